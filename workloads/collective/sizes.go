package collective

import (
	"fmt"
	"math"
)

// ZipfExponent is the exponent of ZipfSizes in the evaluation of "To Reconfigure or Not to Reconfigure", Sec. 5.1.
const ZipfExponent = 0.4

// UniformSizes are those of an all-to-all in which every ordered pair of n nodes exchanges the same bytes. Like all
// sizes here they are n x n, row by row: what node row sends node column, 0 on the diagonal. Error: ErrTraffic for
// fewer than 2 nodes, a mean below 1 B, or more bytes than can be counted.
func UniformSizes(n int, mean int64) ([]int64, error) {
	if err := checkSizes("uniform sizes", n, mean); err != nil {
		return nil, err
	}
	sizes := make([]int64, n*n)
	forEachPair(n, func(i int) { sizes[i] = mean })
	return sizes, nil
}

// RandomSizes are drawn for each pair from the uniform distribution on 0 .. 2 x mean, rounded to bytes (as UniformSizes
// else). The same seed draws the same sizes.
func RandomSizes(n int, mean int64, seed uint64) ([]int64, error) {
	if err := checkSizes("random sizes", n, mean); err != nil {
		return nil, err
	}
	rng := randomStream(seed, "random sizes")
	sizes := make([]int64, n*n)
	forEachPair(n, func(i int) { sizes[i] = int64(math.Round(2 * float64(mean) * rng.Float64())) })
	return sizes, nil
}

// ZipfSizes are proportional to rank^-exponent over the n(n-1) pairs, whose ranks are a permutation drawn by the seed,
// and average to the mean exactly: what rounding down leaves goes to the first ranks, a byte each (as UniformSizes
// else). Error: also ErrTraffic for an exponent that is negative or not finite. 0 is uniform.
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
	for rank := count; rank >= 1; rank-- { // the smallest first, so that little is lost
		sum += math.Pow(float64(rank), -exponent)
	}
	total := mean * int64(count)
	byRank := make([]int64, count) // by rank
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
	if err := checkNodes(name, n, mean, nil); err != nil {
		return err
	}
	const maxNodes = 1 << 14 // nodes, whose matrix is 2 GiB
	if n > maxNodes {
		return fmt.Errorf("%w: %s among %d nodes; want at most %d", ErrTraffic, name, n, maxNodes)
	}
	return checkTotal(name, 2*int64(n)*int64(n-1), mean) // random sizes are up to twice the mean
}

// forEachPair calls do with the place of every ordered pair of n nodes, in order.
func forEachPair(n int, do func(i int)) {
	for i := range n * n {
		if i/n != i%n {
			do(i)
		}
	}
}
