package collective

import (
	"cmp"
	"slices"
)

// Span is the range From <= byte < To of a call's vector.
type Span struct{ From, To int64 }

// data is a part of the vector: non-empty spans in order that do not touch.
type data []Span

// bytes returns the size of d.
func (d data) bytes() int64 {
	sum := int64(0)
	for _, s := range d {
		sum += s.To - s.From
	}
	return sum
}

// slice returns the bytes of d with offsets from <= offset < to.
func (d data) slice(from, to int64) data {
	var part data
	for _, s := range d {
		size := s.To - s.From
		if lo, hi := max(0, from), min(size, to); lo < hi {
			part = append(part, Span{s.From + lo, s.From + hi})
		}
		from, to = from-size, to-size
	}

	return part
}

// piece returns piece k of n. The sizes of pieces differ by at most a byte.
func (d data) piece(k, n int) data {
	// The first remainder pieces have one more byte.
	b := d.bytes()
	whole, remainder := b/int64(n), b%int64(n)
	startOf := func(k int64) int64 { return whole*k + min(k, remainder) }
	return d.slice(startOf(int64(k)), startOf(int64(k)+1))
}

// pieces returns all n pieces of d.
func (d data) pieces(n int) []data {
	all := make([]data, n)
	for k := range all {
		all[k] = d.piece(k, n)
	}
	return all
}

// join returns the union of disjoint parts.
func join(parts ...data) data {
	if len(parts) == 1 {
		return parts[0]
	}

	// Sort the spans, and merge spans that touch.
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	whole := all[:0]
	for _, s := range all {
		if k := len(whole) - 1; k >= 0 && whole[k].To == s.From {
			whole[k].To = s.To
		} else {
			whole = append(whole, s)
		}
	}

	return whole
}

// vector returns the whole vector of a call among n ranks.
func (c *Call) vector(n int) data {
	switch {
	case c.Kind != AllToAll:
		return data{{0, c.Bytes}}
	case c.Sizes == nil:
		return data{{0, c.Bytes * int64(n) * int64(n)}}
	}

	sum := int64(0)
	for _, s := range c.Sizes {
		sum += s
	}
	return data{{0, sum}}
}

// blocks returns the blocks of a call among n ranks: pair, by sender and receiver, for an
// all-to-all, otherwise block, by rank. The other function is nil.
func (c *Call) blocks(n int) (pair func(from, to int) data, block func(rank int) data) {
	if c.Kind != AllToAll {
		v := c.vector(n)
		return nil, func(rank int) data { return v.piece(rank, n) }
	}
	if c.Sizes == nil {
		return func(from, to int) data {
			k := int64(from*n + to)
			return data{{k * c.Bytes, (k + 1) * c.Bytes}}
		}, nil
	}

	// Blocks of different sizes lie in the vector by sender, then by receiver.
	start := make([]int64, n*n+1)
	for k, s := range c.Sizes {
		start[k+1] = start[k] + s
	}
	return func(from, to int) data {
		k := from*n + to
		if start[k] == start[k+1] {
			return nil
		}
		return data{{start[k], start[k+1]}}
	}, nil
}
