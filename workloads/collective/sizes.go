package collective

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// ZipfExponent is the exponent of ZipfSizes in the evaluation of "To Reconfigure or Not to Reconfigure", Sec. 5.1.
const ZipfExponent = 0.4

// UniformSizes are those of an all-to-all in which every ordered pair of n nodes exchanges the same bytes. Like all sizes
// here they are n x n, row by row: what node row sends node column, 0 on the diagonal. Error: ErrTraffic for fewer than 2
// nodes, a mean below 1 B, or more bytes than can be counted.
func UniformSizes(n int, mean int64) ([]int64, error) {
	if err := checkSizes("uniform sizes", n, mean); err != nil {
		return nil, err
	}
	sizes := make([]int64, n*n)
	pairs(n, func(i int) { sizes[i] = mean })
	return sizes, nil
}

// RandomSizes are drawn for each pair from the uniform distribution on 0 .. 2 x mean, rounded to bytes (as UniformSizes
// else). The same seed draws the same sizes.
func RandomSizes(n int, mean int64, seed uint64) ([]int64, error) {
	if err := checkSizes("random sizes", n, mean); err != nil {
		return nil, err
	}
	rng := stream(seed, "random sizes")
	sizes := make([]int64, n*n)
	pairs(n, func(i int) { sizes[i] = int64(math.Round(2 * float64(mean) * rng.Float64())) })
	return sizes, nil
}

// ZipfSizes are proportional to rank^-exponent over the n(n-1) pairs, whose ranks are a permutation drawn by the seed, and
// average to the mean exactly: what rounding down leaves goes to the first ranks, a byte each (as UniformSizes else).
// Error: also ErrTraffic for an exponent that is negative or not finite. 0 is uniform.
func ZipfSizes(n int, mean int64, exponent float64, seed uint64) ([]int64, error) {
	if err := checkSizes("zipf sizes", n, mean); err != nil {
		return nil, err
	}
	if !(exponent >= 0) || math.IsInf(exponent, 1) {
		return nil, fmt.Errorf("%w: zipf sizes with an exponent of %g; want at least 0", ErrTraffic, exponent)
	}
	count := n * (n - 1)
	sum := 0.0
	for rank := count; rank >= 1; rank-- { // the smallest first, so that little is lost
		sum += math.Pow(float64(rank), -exponent)
	}
	total := mean * int64(count)
	by := make([]int64, count) // by rank
	left := total
	for r := range by {
		by[r] = min(left, int64(float64(total)*(math.Pow(float64(r+1), -exponent)/sum)))
		left -= by[r]
	}
	for r := 0; left > 0; r = (r + 1) % count {
		by[r]++
		left--
	}
	ranks := stream(seed, "zipf sizes").Perm(count)
	sizes := make([]int64, n*n)
	next := 0
	pairs(n, func(i int) {
		sizes[i] = by[ranks[next]]
		next++
	})
	return sizes, nil
}

// ReadSizes reads an n x n matrix of comma-separated values: a line a source, in each an entry a destination, in bytes or
// with a unit ("4MB"). Empty lines and what follows # are skipped. Name is the file's, for messages. Error: ErrTraffic
// with all faults of the file, each with line and column (of the table, from 1 on), where the matrix is not n x n, an entry
// is negative or no size, a node sends to itself, or the bytes are more than can be counted.
func ReadSizes(r io.Reader, name string, n int) ([]int64, error) {
	if err := checkSizes(name, n, 1); err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, n*n)
	var faults []error
	fault := func(line, column int, format string, of ...any) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Errorf("%w: %s:%d:%d: %s", ErrTraffic, name, line, column, fmt.Sprintf(format, of...)))
		}
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<26)
	row, line, total := 0, 0, int64(0)
	for in.Scan() {
		line++
		text := lineOf(in.Text(), line)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if row++; row > n {
			continue
		}
		entries := strings.Split(text, ",")
		if row == 1 && isHeader(entries) {
			return nil, headerFault(name, line, entries)
		}
		if len(entries) != n {
			fault(line, min(len(entries), n)+1, "a row of %d entries; want %d, one a node", len(entries), n)
		}
		for d, entry := range entries[:min(n, len(entries))] {
			b, wrong := parseEntry(strings.TrimSpace(entry))
			switch {
			case wrong != "":
				fault(line, d+1, "%s", wrong)
			case b > 0 && d == row-1:
				fault(line, d+1, "node %d sends %d B to itself; want 0", d, b)
			case b > math.MaxInt64/8-total:
				fault(line, d+1, "the matrix is more bytes than can be counted")
			default:
				total += b
			}
			sizes = append(sizes, b)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("collective: %s:%d: %w", name, line+1, err)
	}
	if row != n {
		fault(line, 1, "the matrix has %d rows; want %d, one a node", row, n)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return sizes, nil
}

// Chunks returns how many chunks of so many bytes each size takes, the last of them perhaps not full. Error: ErrTraffic
// for chunks below 1 B, a negative size, or more chunks than an int32 holds.
func Chunks(sizes []int64, chunk int64) ([]int32, error) {
	if chunk < 1 {
		return nil, fmt.Errorf("%w: chunks of %d B; want at least 1 B", ErrTraffic, chunk)
	}
	counts := make([]int32, len(sizes))
	for i, b := range sizes {
		c := b / chunk
		if b%chunk > 0 {
			c++
		}
		if b < 0 || c > math.MaxInt32 {
			return nil, fmt.Errorf("%w: entry %d of the sizes, %d B, in chunks of %d B; want 0 to %d chunks", ErrTraffic, i, b, chunk, math.MaxInt32)
		}
		counts[i] = int32(c)
	}
	return counts, nil
}

// checkSizes fails on sizes that cannot be.
func checkSizes(name string, n int, mean int64) error {
	if err := check(name, n, mean, nil); err != nil {
		return err
	}
	const most = 1 << 14 // nodes, whose matrix is 2 GiB
	if n > most {
		return fmt.Errorf("%w: %s among %d nodes; want at most %d", ErrTraffic, name, n, most)
	}
	return fits(name, 2*int64(n)*int64(n-1), mean) // random sizes are up to twice the mean
}

// pairs calls do with the place of every ordered pair of n nodes, in order.
func pairs(n int, do func(i int)) {
	for i := range n * n {
		if i/n != i%n {
			do(i)
		}
	}
}
