// Positions on an axis are milliseconds since 1970 or plain numbers. Plotly reads numbers on a date
// axis in the reader's own time zone; text it takes as it stands.
export const moment = (dated, position) =>
  dated ? new Date(position).toISOString().replace("Z", "") : position;

export const position = (edge) => {
  if (typeof edge !== "string") return edge;
  return Date.parse(edge.replace(" ", "T") + (edge.length > 10 ? "Z" : ""));
};

export const lasting = (seconds) => {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
};
