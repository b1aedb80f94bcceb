// Live scores of a CSV file on standard output: node score.mjs model.onnx rows.csv
//
// The first line names the columns; one called `time` holds ISO times or is left out.

import { readFile } from "node:fs/promises";
import { CapsModel } from "./caps.mjs";

const [modelPath, rowsPath] = process.argv.slice(2);
if (!rowsPath) {
  console.error("usage: node score.mjs model.onnx rows.csv");
  process.exit(2);
}
const model = await CapsModel.load(modelPath);
const stream = model.stream();
const [header, ...lines] = (await readFile(rowsPath, "utf8")).trim().split("\n");
const columns = header.trim().split(",");

console.log("score,p_value,alarm");
for (const line of lines) {
  const cells = line.trim().split(",").map((cell) => cell.replaceAll('"', ""));
  const row = Object.fromEntries(columns.map((name, at) => [name, cells[at] === "" ? null : cells[at]]));
  const time = "time" in row ? Date.parse(row.time) : null;
  const { score, pValue, alarm } = await stream.update(row, time);
  console.log(`${score},${pValue},${Number(alarm)}`);
}
