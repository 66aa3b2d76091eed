// Package gather plans all-gather, reduce-scatter and all-reduce on GPUs joined by optical switches: which topologies to
// set up, and which pieces of the data cross which link in each step (the hardware is that of the paper on reconfiguring
// during a collective, Sec. 2.1; the paper itself plans all-to-all alone).
//
// Plans on circulants are shift-invariant: what GPU u does is what GPU 0 does, renamed by +u. An all-gather is a way for
// one shard to reach all of Z_n (stage.go); stages on the quotients of a chain of subgroups of Z_n follow each other
// (chain.go); a reduce-scatter is an all-gather run backwards, and an all-reduce both, or, in its middle, an exchange of
// whole vectors (all.go). Any topology serves for broadcast trees from every GPU (trees.go, grown.go): generalised Kautz
// graphs, line digraphs and affine graphs, alone or one after the other (graphs.go, forest.go), reach all in fewer steps
// than circulants do. A de Bruijn or Kautz graph folds an all-reduce into as many steps as it has digits (fold.go). The
// frontier over reconfigurations, steps and bytes is kept whole, so that every delay picks its best.
//
// The package leaves all-to-all to its siblings and time to the engines; Work gives what those play.
package gather

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/workloads/collective"
)

// Problem is a collective of n GPUs with k links out of and into each.
type Problem struct {
	GPUs, Degree int // 2 <= n <= 2^14 and 1 <= k < n
	Op           collective.Op
	// Bytes is the data of a GPU, M: what it puts into the sum, or has when all is gathered (as
	// collective.Collective.Bytes). Shard s of n, which GPU s contributes (all-gather) or ends with (reduce-scatter), is
	// M/n, sizes differing by a byte at most. At least n.
	Bytes   int64
	Rate    float64     // of a link, bits per second
	Latency engine.Time // alpha: of a hop, besides serialising
	Delay   engine.Time // R: of a reconfiguration; the first topology takes one too
	// Stop is asked now and then; planning, checking and writing out end with halt.ErrHalted when it says so.
	Stop halt.When
}

// On returns the problem of an operation on a domain, with so many bytes a GPU. Its switches reconfigure together, also
// where the domain would let each do so on its own.
func On(d *scaleup.Domain, op collective.Op, bytes int64) *Problem {
	return &Problem{GPUs: d.GPUs, Degree: d.Switches, Op: op, Bytes: bytes, Rate: float64(d.Rate), Latency: d.Latency, Delay: d.Delay}
}

// ErrProblem says that a Problem cannot be.
var ErrProblem = errors.New("gather: no such collective")

// mostGPUs is where planning would no longer be a matter of seconds.
const mostGPUs = 1 << 14

// SlowestLink is the least rate of links, in b/s: of slower ones the time of a byte does not fit.
const SlowestLink = 2000

var opNames = [...]string{collective.AllReduce: "all-reduce", collective.ReduceScatter: "reduce-scatter", collective.AllGather: "all-gather"}

// opName is the name of an operation without its ring.
func opName(o collective.Op) string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return o.String()
}

// Check returns an ErrProblem for sizes, rates or times out of range.
func (p *Problem) Check() error {
	n := p.GPUs
	switch {
	case n < 2 || n > mostGPUs:
		return fmt.Errorf("%w: %d GPUs; want 2..%d", ErrProblem, n, mostGPUs)
	case p.Degree < 1 || p.Degree >= n:
		return fmt.Errorf("%w: %d links a GPU among %d GPUs; want 1..%d", ErrProblem, p.Degree, n, n-1)
	case int(p.Op) >= len(opNames):
		return fmt.Errorf("%w: %s; want one of %v", ErrProblem, p.Op, opNames)
	case p.Bytes < int64(n):
		return fmt.Errorf("%w: %s of %d B among %d GPUs; want at least a byte a shard, %d B", ErrProblem, opName(p.Op), p.Bytes, n, n)
	case !(p.Rate > 0) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("%w: links of %g b/s; want a finite rate above 0", ErrProblem, p.Rate)
	case p.Rate < SlowestLink:
		return fmt.Errorf("%w: links of %g b/s; want at least %g b/s, for times of bytes are counted in 32 bits and fractions", ErrProblem, p.Rate, float64(SlowestLink))
	case p.Latency < 0 || p.Delay < 0:
		return fmt.Errorf("%w: a latency of %v and a reconfiguration delay of %v; want neither below 0", ErrProblem, p.Latency, p.Delay)
	}
	// Of any plan: 2n steps, 64 phases, n times the data on one link.
	longest := 2*float64(n)*float64(p.Latency) + 64*float64(p.Delay) + float64(n)*float64(p.Bytes)*8*float64(engine.Second)/p.Rate
	if longest > math.MaxInt64/4 {
		return fmt.Errorf("%w: %s of %d B at %g b/s, with latencies of %v and delays of %v, may outlast simulated time (106 days)",
			ErrProblem, opName(p.Op), p.Bytes, p.Rate, p.Latency, p.Delay)
	}
	return nil
}

// mostParts is the highest degree at which shards are cut so that links can share one evenly.
const mostParts = 64

// parts is into how many parts a shard is cut: k, so that any number of shards can be spread evenly over k links, else 1
// where a part would be less than a byte.
func (p *Problem) parts() int32 {
	if p.Degree > mostParts || p.Bytes/int64(p.GPUs) < int64(p.Degree) {
		return 1
	}
	return int32(p.Degree)
}

// cut returns where piece k of n of so many bytes begins, as collective.Collective cuts its data: the first ones are
// longer by a byte where it does not come out even.
func cut(bytes int64, k, n int32) int64 {
	return bytes/int64(n)*int64(k) + min(int64(k), bytes%int64(n))
}

// shardBytes is the size of a shard.
func (p *Problem) shardBytes(shard int32) int64 {
	return cut(p.Bytes, shard+1, int32(p.GPUs)) - cut(p.Bytes, shard, int32(p.GPUs))
}

// perByte is the ticks that a byte takes on a link, times 2^32; engine/packet counts with the same.
func (p *Problem) perByte() uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/p.Rate, 32)))
}

// StepTime is what a step takes whose longest message has so many bytes: alpha + bytes/rate, in whole ticks.
func (p *Problem) StepTime(bytes int64) engine.Time {
	hi, lo := bits.Mul64(p.perByte(), uint64(bytes))
	return p.Latency + engine.Time(hi<<32|lo>>32)
}
