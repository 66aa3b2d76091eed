package gather

import (
	"errors"
	"fmt"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/workloads/collective"
)

// ErrBroken says that a plan breaks a rule of the network or of its collective.
var ErrBroken = errors.New("gather: the plan breaks a rule")

func broken(format string, of ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, of...))
}

// Check replays the plan message by message, whoever made it, and returns an ErrBroken that names the first breach and
// its message: topologies have at most k links out of and into a GPU, a phase that reuses a topology has that of the one
// before, every link exists and carries one message a step, of no more bytes than the phase claims; what is sent was
// there when the step began; no contribution is summed twice or lost, copies are of what is complete; and in the end
// everyone has what the operation is to leave it with, every part of every shard.
func (pl *Plan) Check() (err error) {
	defer halt.Caught(&err)
	p := &pl.Problem
	if err := p.Check(); err != nil {
		return err
	}
	if pl.Parts < 1 || int64(pl.Parts) > p.Bytes/int64(p.GPUs) {
		return broken("%d parts a shard of %d B; want 1 to as many", pl.Parts, p.Bytes/int64(p.GPUs))
	}
	c := &checker{pl: pl, byShard: make([][]moved, p.GPUs)}
	for i := range pl.Phases {
		if err := c.phase(i); err != nil {
			return err
		}
	}
	z := newReplay(pl)
	var first error
	when := [2]int32{int32(len(pl.Phases)), 0} // phase and step of the first; the end is behind all
	for s := range c.byShard {
		if err := z.shard(int32(s), c.byShard[s]); err != nil && (first == nil || slices.Compare(z.when[:], when[:]) < 0) {
			first, when = err, z.when
		}
	}
	return first
}

// moved is a piece of a message, without its shard.
type moved struct{ phase, step, fromGPU, toGPU, from, to, origin int32 }

func (m *moved) String() string {
	return (&Tx{Phase: m.phase, Step: m.step, From: m.fromGPU, To: m.toGPU}).String()
}

type checker struct {
	pl      *Plan
	byShard [][]moved // in order of phase and step
	last    scaleup.Topology
}

// phase checks the links of a phase and sorts what they carry by shard.
func (c *checker) phase(i int) error {
	p, f := &c.pl.Problem, &c.pl.Phases[i]
	n := int32(p.GPUs)
	if int(f.Kind) >= len(kindNames) || f.Kind != Gather && p.Op == collective.AllGather {
		return broken("phase %d of an %s is a %s", i, opName(p.Op), f.Kind)
	}
	if f.Open && (f.Kind != Exchange || i+1 == len(c.pl.Phases) || f.Kind != c.pl.Phases[i+1].Kind) {
		return broken("phase %d is an open %s; want an exchange that goes on in the next phase", i, f.Kind)
	}
	for s, b := range f.Longest {
		if b < 0 || b > p.Bytes*int64(n) {
			return broken("step %d of phase %d claims a message of %d B; all data is %d B", s, i, b, p.Bytes*int64(n))
		}
	}
	t := c.pl.Topology(i)
	if err := t.Check(p.GPUs, p.Degree); err != nil {
		return fmt.Errorf("%w: phase %d: %w", ErrBroken, i, err)
	}
	sorted := slices.Clone(t)
	slices.SortFunc(sorted, byEnds)
	if f.Reused && !slices.Equal(sorted, c.last) {
		return broken("phase %d claims the topology of the one before, which has other links", i)
	}
	c.last = sorted
	used := make([]int32, len(sorted)) // by link: one more than the step it was last used in
	step := int32(0)
	for _, x := range c.pl.Transmissions(i) {
		p.Stop.Check()
		if int(x.Phase) != i || x.Step < step || int(x.Step) >= len(f.Longest) {
			return broken("%v: it comes in phase %d, after step %d of %d", &x, i, step, len(f.Longest))
		}
		step = x.Step
		at, _ := slices.BinarySearchFunc(sorted, scaleup.Edge{From: x.From, To: x.To}, byEnds)
		links := at
		for ; at < len(sorted) && sorted[at] == (scaleup.Edge{From: x.From, To: x.To}) && used[at] == x.Step+1; at++ {
		}
		if at == len(sorted) || sorted[at] != (scaleup.Edge{From: x.From, To: x.To}) {
			return broken("%v: there are %d such links, all taken in this step", &x, at-links)
		}
		used[at] = x.Step + 1
		bytes := int64(0)
		for _, e := range x.Pieces {
			switch {
			case e.Shard < 0 || e.Shard >= n || e.From < 0 || e.From >= e.To || e.To > c.pl.Parts:
				return broken("%v: parts %d..%d of shard %d; there are %d of %d shards", &x, e.From, e.To-1, e.Shard, c.pl.Parts, n)
			case (f.Kind == Exchange) != (e.Origin >= 0) || e.Origin >= n:
				return broken("%v: shard %d with the sum of GPU %d in a phase to %s; want one of 0..%d in an exchange, else -1", &x, e.Shard, e.Origin, f.Kind, n-1)
			}
			size := p.shardBytes(e.Shard)
			bytes += cut(size, e.To, c.pl.Parts) - cut(size, e.From, c.pl.Parts)
			c.byShard[e.Shard] = append(c.byShard[e.Shard], moved{x.Phase, x.Step, x.From, x.To, e.From, e.To, e.Origin})
		}
		if bytes > f.Longest[x.Step] {
			return broken("%v: it is of %d B, the longest of the step is to be of %d B", &x, bytes, f.Longest[x.Step])
		}
	}
	return nil
}

func byEnds(a, b scaleup.Edge) int {
	if a.From != b.From {
		return int(a.From - b.From)
	}
	return int(a.To - b.To)
}
