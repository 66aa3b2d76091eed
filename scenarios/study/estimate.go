package study

import (
	"context"
	"runtime"
)

// Work guesses how much there is to simulate of each cell: seconds of a processor where packets are, and else 1 of
// whatever others are. Hops and Seconds are sums over the packets of the missing cells, those that
// one decision serves counted once.
type Work struct {
	Of            []float64 // by cell
	Hops, Seconds float64
}

// mostGuessed is how many variants are laid out for a guess; of more, every so manieth stands for those behind it.
const mostGuessed = 2000

// leastWork is what a cell takes beside its packets, in seconds.
const leastWork = 0.01

// Work guesses the work of a plan's cells. It fails only where ctx ends.
func (p *Plan) Work(ctx context.Context, store *Store) (*Work, error) {
	sizes, err := p.sizes(ctx)
	if err != nil {
		return nil, err
	}
	every, hops, seconds := sizes.every, sizes.hops, sizes.seconds
	w := &Work{Of: make([]float64, len(p.Sweep.Cells))}
	var missing []int
	for i, v := range p.Variant {
		if w.Of[i] = 1; seconds[v/every] > 0 {
			w.Of[i] = seconds[v/every] + leastWork
		}
		if !store.Has(p.Sweep.Cells[i].Key) {
			missing = append(missing, i)
		}
	}
	for _, b := range batches(p, missing) {
		w.Hops += hops[p.Variant[b[0]]/every]
		w.Seconds += seconds[p.Variant[b[0]]/every]
		for _, i := range b[1:] {
			w.Of[i] = 0
		}
	}
	return w, nil
}

// sizes are guesses of what there is to compute of variants, of every so manieth.
type sizes struct {
	every         int
	hops, seconds []float64 // to simulate by a policy
}

func (p *Plan) sizes(ctx context.Context) (*sizes, error) {
	if p.guessed != nil {
		return p.guessed, nil
	}
	variants := 0
	for _, v := range p.Variant {
		variants = max(variants, v+1)
	}
	every := 1 + variants/mostGuessed
	n := 1 + variants/every
	z := &sizes{every, make([]float64, n), make([]float64, n)}
	if err := parallel(ctx, runtime.GOMAXPROCS(0), (variants+every-1)/every, func(k int) {
		s, err := p.Study.Variant(k * every)
		if err != nil {
			return // its cells will say why
		}
		if hops, seconds, err := s.PacketWork(ctx); err == nil {
			z.hops[k], z.seconds[k] = hops, seconds
		}
	}); err != nil {
		return nil, err
	}
	p.guessed = z
	return z, nil
}

// Estimate guesses the wall-clock seconds that computing the missing cells takes on so many processors, from the times
// of cells of the same policy that store holds or, for a unit of work, that sample gives. ok is false where there is no
// time of some policy.
func (p *Plan) Estimate(store *Store, workers int, work *Work, sample map[string]float64) (seconds float64, missing int, ok bool) {
	sum, units := map[string]float64{}, map[string]float64{}
	for i := range p.Sweep.Cells {
		if r := store.records[p.Sweep.Cells[i].Key]; r != nil {
			policy := p.Sweep.Cells[i].Policy
			if took := r.Timings.SolveS + r.Timings.SimulateS; took > 0 { // others were served by its decision
				sum[policy] += took
				units[policy] += work.Of[i]
			}
		}
	}
	ok = true
	for i := range p.Sweep.Cells {
		policy := p.Sweep.Cells[i].Policy
		if store.Has(p.Sweep.Cells[i].Key) {
			continue
		}
		missing++
		if s, sampled := sample[policy]; units[policy] > 0 {
			seconds += sum[policy] / units[policy] * work.Of[i]
		} else if sampled {
			seconds += s * work.Of[i]
		} else {
			ok = false
		}
	}
	return seconds / float64(max(1, min(workers, missing))), missing, ok
}
