// Numbers with units.

const fixed = (value) => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

export const count = (value) => Math.round(value).toLocaleString("en");

// A number that need not be whole.
export const number = (value) => (Number.isInteger(value) || value >= 1000 ? count(value) : fixed(value));

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) (value /= 1000), unit++;
  return `${unit ? fixed(value) : value}\u00a0${units[unit]}`;
}

export function duration(nanoseconds) {
  for (const [unit, size] of [["min", 6e10], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (nanoseconds >= size * (unit === "min" ? 2 : 0.9995)) return `${fixed(nanoseconds / size)}\u00a0${unit}`;
  return `${Math.round(nanoseconds)}\u00a0ns`;
}

export const label = (names) => (names && names.length ? names.join("/") : "no label");

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;
