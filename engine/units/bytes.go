package units

import "math"

// Bytes is an amount of data in bytes.
type Bytes int64

// sizes lists the units of Bytes. String uses the first unit that divides the value.
var sizes = quantity{
	noun: "size", advice: `bytes, such as "4MB" or "64KiB"`,
	units: []unit{
		{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3},
		{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
	},
	max: math.MaxInt64, fractionProblem: "it is not a whole number of bytes", sizeProblem: "it is too large",
}

// ParseBytes parses a size such as "4MB", "64KiB" or "542B". It returns an error for negative
// sizes, fractions of a byte and values beyond int64.
func ParseBytes(text string) (Bytes, error) {
	n, err := sizes.parse(text)
	return Bytes(n), err
}

// String formats b with the largest power of 1000 that divides it, or else of 1024. ParseBytes
// returns the same size.
func (b Bytes) String() string {
	if b == 0 {
		return "0B"
	}
	return sizes.format(int64(b))
}
