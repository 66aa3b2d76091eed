package collective

import (
	"fmt"
	"math"
)

// ZipfExponent is the exponent of ZipfSizes in the evaluation of "To Reconfigure or Not
// to Reconfigure", Sec. 5.1.
const ZipfExponent = 0.4

// UniformSizes returns the sizes of an all-to-all in which every ordered pair of n nodes
// exchanges the same number of bytes.
//
// All functions here return an n x n matrix, row by row. Row s, column d is the number of
// bytes from node s to node d; the diagonal is 0. The error wraps ErrTraffic if there are
// fewer than 2 nodes, if the mean is below 1 B, or if the total overflows.
func UniformSizes(n int, mean int64) ([]int64, error) {
	if err := checkSizes("uniform sizes", n, mean); err != nil {
		return nil, err
	}
	sizes := make([]int64, n*n)
	forEachPair(n, func(i int) { sizes[i] = mean })
	return sizes, nil
}

// RandomSizes draws the size of each pair from the uniform distribution on 0 to 2 x mean,
// rounded to bytes. The same seed gives the same sizes.
func RandomSizes(n int, mean int64, seed uint64) ([]int64, error) {
	if err := checkSizes("random sizes", n, mean); err != nil {
		return nil, err
	}
	rng := randomStream(seed, "random sizes")
	sizes := make([]int64, n*n)
	forEachPair(n, func(i int) { sizes[i] = int64(math.Round(2 * float64(mean) * rng.Float64())) })
	return sizes, nil
}

// ZipfSizes returns sizes proportional to rank^-exponent. The ranks of the n(n-1) pairs
// are a permutation drawn with the seed. The average is exactly mean: sizes are rounded
// down, and the remaining bytes are given to the first ranks, one each. An exponent of 0
// is uniform. Negative and infinite exponents are rejected.
func ZipfSizes(n int, mean int64, exponent float64, seed uint64) ([]int64, error) {
	if err := checkSizes("zipf sizes", n, mean); err != nil {
		return nil, err
	}
	if !(exponent >= 0) || math.IsInf(exponent, 1) {
		return nil, fmt.Errorf("%w: zipf sizes with an exponent of %g; want at least 0",
			ErrTraffic, exponent)
	}
	count := n * (n - 1)
	sum := 0.0
	for rank := count; rank >= 1; rank-- { // smallest terms first, to limit rounding errors
		sum += math.Pow(float64(rank), -exponent)
	}

	total := mean * int64(count)
	byRank := make([]int64, count) // indexed by rank
	remaining := total
	for r := range byRank {
		byRank[r] = min(remaining, int64(float64(total)*(math.Pow(float64(r+1), -exponent)/sum)))
		remaining -= byRank[r]
	}
	for r := 0; remaining > 0; r = (r + 1) % count {
		byRank[r]++
		remaining--
	}

	ranks := randomStream(seed, "zipf sizes").Perm(count)
	sizes := make([]int64, n*n)
	next := 0
	forEachPair(n, func(i int) {
		sizes[i] = byRank[ranks[next]]
		next++
	})
	return sizes, nil
}

// Chunks returns the number of chunks of the given bytes that each size needs; the last
// one may be partly filled. It fails with ErrTraffic if chunk is below 1, a size is
// negative, or a number of chunks overflows an int32.
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
			return nil, fmt.Errorf("%w: entry %d of the sizes, %d B, in chunks of %d B; want 0 to %d chunks",
				ErrTraffic, i, b, chunk, math.MaxInt32)
		}
		counts[i] = int32(c)
	}
	return counts, nil
}

// checkSizes fails on an invalid number of nodes or mean.
func checkSizes(name string, n int, mean int64) error {
	var down []bool // sizes are drawn for all nodes
	if err := checkNodes(name, n, mean, down); err != nil {
		return err
	}
	const maxNodes = 1 << 14 // nodes; the matrix then has 2 GiB
	if n > maxNodes {
		return fmt.Errorf("%w: %s among %d nodes; want at most %d", ErrTraffic, name, n, maxNodes)
	}
	return checkTotal(name, 2*int64(n)*int64(n-1), mean) // RandomSizes draws up to twice the mean
}

// forEachPair calls do with the matrix index of every ordered pair of n nodes, in order.
func forEachPair(n int, do func(i int)) {
	for i := range n * n {
		if i/n != i%n {
			do(i)
		}
	}
}
