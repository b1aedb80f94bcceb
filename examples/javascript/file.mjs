// What `caps export` wrote: an ONNX model with a description in its metadata and a seal at its end.

const KIND = "caps.onnx";
const VERSION = 10; // of the file; another one belongs to another way of scoring
const DESCRIPTION = "caps";
const METADATA = 14; // field of a ModelProto
const SEAL = new TextEncoder().encode("caps.sha256");
const HEX = 64;

/** The facts of the model and the training rows kept of each channel, after checking the seal. */
export async function readExport(bytes) {
  await checkSeal(bytes);
  const text = metadata(bytes).get(DESCRIPTION);
  if (text === undefined) throw new Error("no description by CAPS: name a file of caps export");
  const facts = JSON.parse(text);
  if (facts.kind !== KIND || facts.version !== VERSION) {
    throw new Error(
      `format ${facts.kind} ${facts.version}, this module reads ${KIND} ${VERSION}: ` +
        "export the model with the caps-tsad that this module came with",
    );
  }
  return { ...facts, banks: facts.banks.map(singles) };
}

async function checkSeal(bytes) {
  const before = bytes.length - (2 + 2 + SEAL.length + 2 + HEX);
  const key = bytes.subarray(before + 4, before + 4 + SEAL.length);
  const sealed = before > 0 && key.every((byte, index) => byte === SEAL[index]);
  if (sealed) {
    const digest = await crypto.subtle.digest("SHA-256", bytes.subarray(0, before));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
    if (new TextDecoder().decode(bytes.subarray(-HEX)) === hex.join("")) return;
  }
  throw new Error("the file is not as caps export wrote it: export the model again");
}

function metadata(bytes) {
  const found = new Map();
  for (const [field, value] of fields(bytes)) {
    if (field !== METADATA) continue;
    const entry = new Map(fields(value));
    const [key, text] = [1, 2].map((number) => new TextDecoder().decode(entry.get(number)));
    found.set(key, text);
  }
  return found;
}

// Fields of a protobuf message: [number, bytes of those with a length].
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const kind = tag % 8;
    if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else {
      const length = varint();
      yield [Math.floor(tag / 8), bytes.subarray(at, at + length)];
      at += length;
    }
  }
}

function singles(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, row) => view.getFloat32(4 * row, true));
}
