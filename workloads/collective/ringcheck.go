package collective

import (
	"fmt"
	"math"
	"slices"
)

// Check fails where the collective is not one: with data of less than a byte a chunk, with rings of ranks that are down
// or not in the network, with stages that do not have the same ranks, and with a ring of ranks that hold different
// parts.
func (c *Collective) Check() error {
	if int(c.Op) >= len(opNames) || c.Latency < 0 {
		return fmt.Errorf("%w: %s with a latency of %v", ErrTraffic, c.Op, c.Latency)
	}
	if c.Down != nil && len(c.Down) != c.Nodes {
		return fmt.Errorf("%w: %s among %d nodes, with the state of %d", ErrTraffic, c.Op, c.Nodes, len(c.Down))
	}
	if len(c.Streams) == 0 {
		return fmt.Errorf("%w: %s has no rings", ErrTraffic, c.Op)
	}
	var ranks []int32
	for k, stream := range c.Streams {
		of, parts, err := c.checkStream(stream)
		if err != nil {
			return err
		}
		if k > 0 && !slices.Equal(of, ranks) {
			return fmt.Errorf("%w: %s has %d ranks in one share of the data and %d others in another", ErrTraffic, c.Op, len(ranks), len(of))
		}
		ranks = of
		if least := c.Bytes / int64(len(c.Streams)); least < parts {
			return fmt.Errorf("%w: %s of %d B in %d streams and %d chunks each; want at least a byte a chunk, %d B",
				ErrTraffic, c.Op, c.Bytes, len(c.Streams), parts, parts*int64(len(c.Streams)))
		}
	}
	if c.Bytes > math.MaxInt64/16/int64(len(ranks)) {
		return fmt.Errorf("%w: %s of %d B on %d ranks is more bytes than can be counted", ErrTraffic, c.Op, c.Bytes, len(ranks))
	}
	return nil
}

// checkStream returns the ranks of a stream, in order, and the most parts that its data is cut into. A rank's part
// after some stages is where it was in their rings; ranks of a ring must come with the same part of data that they sum.
// (Then what they come with has no rank in common: two ranks with equal parts were in different rings of every stage
// before.)
func (c *Collective) checkStream(stream Stream) (ranks []int32, parts int64, err error) {
	part := make([]int64, c.Nodes)
	cut := int64(1) // parts so far
	for s, stage := range stream {
		in, n, err := c.checkStage(stage, len(stream) > 1)
		if err != nil {
			return nil, 0, err
		}
		if s > 0 && !slices.Equal(in, ranks) {
			return nil, 0, fmt.Errorf("%w: stage %d of %s has %d ranks, not the %d of the one before", ErrTraffic, s, c.Op, len(in), len(ranks))
		}
		ranks = in
		if cut > math.MaxInt32/n {
			return nil, 0, fmt.Errorf("%w: %s cuts data into more than %d parts", ErrTraffic, c.Op, math.MaxInt32)
		}
		cut *= n
		for _, ring := range stage {
			of := part[ring[0]]
			for i, r := range ring {
				if part[r] != of {
					return nil, 0, fmt.Errorf("%w: stage %d of %s joins ranks %d and %d, which hold different parts of the data by then; want rings that cross those of the stages before", ErrTraffic, s, c.Op, ring[0], r)
				}
				part[r] = of*n + int64(i)
			}
		}
	}
	if len(ranks) == 0 {
		return nil, 0, fmt.Errorf("%w: %s has no rings", ErrTraffic, c.Op)
	}
	return ranks, cut, nil
}

// checkStage returns the ranks of a stage, in order, and the most of a ring. Where it is one of several, rings must be
// of one length.
func (c *Collective) checkStage(stage Stage, several bool) (ranks []int32, most int64, err error) {
	for _, ring := range stage {
		if len(ring) < 2 {
			return nil, 0, fmt.Errorf("%w: %s in a ring of %d; want at least 2 ranks", ErrTraffic, c.Op, len(ring))
		}
		if several && len(ring) != len(stage[0]) {
			return nil, 0, fmt.Errorf("%w: %s has rings of %d and of %d ranks in one of several stages; want one length", ErrTraffic, c.Op, len(stage[0]), len(ring))
		}
		ranks, most = append(ranks, ring...), max(most, int64(len(ring)))
	}
	slices.Sort(ranks)
	for i, r := range ranks {
		if r < 0 || int(r) >= c.Nodes || i > 0 && ranks[i-1] == r {
			return nil, 0, fmt.Errorf("%w: %s has rank %d in two rings of a stage, or it is out of 0 to %d", ErrTraffic, c.Op, r, c.Nodes-1)
		}
		if c.Down != nil && c.Down[r] {
			return nil, 0, fmt.Errorf("%w: rank %d of %s is down; want rings of nodes that are up: a single ring passes over others, rings along several dimensions cannot", ErrTraffic, r, c.Op)
		}
	}
	return ranks, max(1, most), nil
}
