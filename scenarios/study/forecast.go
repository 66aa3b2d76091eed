package study

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"sim/scenarios"
	"sim/scenarios/result"
)

// Forecast is how long the missing cells of a sweep take.
type Forecast struct {
	Missing int            // cells
	Seconds float64        // of one processor
	Cost    scenarios.Cost // estimated before any cell is computed
	// Unknown reports whether no cell of the policy of some missing cell has a time.
	Unknown bool
	// Rough reports whether most of Seconds is for policies without a time, or for values of an axis of which only one has a
	// time.
	Rough bool
}

// Wall returns the wall-clock seconds on a number of processors.
func (f *Forecast) Wall(workers int) float64 {
	return f.Seconds / float64(max(1, min(workers, f.Missing)))
}

// maxEstimated bounds the variants whose costs are estimated. In a larger sweep each stands for those behind it.
const maxEstimated = 2000

// minCost is the seconds that a cell takes at least.
const minCost = 0.001

// costs returns a function that returns the cost of a variant. It fails only if ctx ends.
func (p *Plan) costs(ctx context.Context) (func(variant int) scenarios.Cost, error) {
	variants := 0
	for _, v := range p.Variant {
		variants = max(variants, v+1)
	}
	every := 1 + variants/maxEstimated
	if p.estimated == nil {
		list := make([]scenarios.Cost, 1+variants/every)
		if err := parallel(ctx, runtime.GOMAXPROCS(0), (variants+every-1)/every, func(k int) {
			if s, err := p.Study.Variant(k * every); err == nil { // else its cells fail
				list[k], _ = s.Cost(ctx)
			}
		}); err != nil {
			return nil, err
		}
		p.estimated = list
	}
	return func(variant int) scenarios.Cost { return p.estimated[variant/every] }, nil
}

// Forecast predicts how long the cells take that store does not hold, from the times of those that it holds and of samples,
// which are missing cells. It fails only if ctx ends.
//
// The time of a cell is its estimated cost, times a factor for its policy, times a factor for each value of an axis or, if
// no cell has the value, for the nearest one that some cell has. Some cells that differ in few axes share most of their work,
// such as plans that are kept. The first of them then has the time of first ones, and the others have that of the others.
// Cells that one decision serves are counted once.
func (p *Plan) Forecast(ctx context.Context, store *Store, samples map[string]*Record) (*Forecast, error) {
	if !slices.ContainsFunc(p.Sweep.Cells, func(c result.Cell) bool { return !store.Has(c.Key) }) {
		return &Forecast{}, nil
	}
	cost, err := p.costs(ctx)
	if err != nil {
		return nil, err
	}
	f, known := &Forecast{}, map[string][]timed{}
	var missing []timed // without a time
	for _, b := range batches(p, upTo(len(p.Sweep.Cells))) {
		lacks, there, took := 0, false, 0.0
		for _, i := range b {
			key := p.Sweep.Cells[i].Key
			r := store.records[key]
			if r == nil {
				lacks++
				r = samples[key]
			}
			if r != nil {
				there, took = true, took+r.Timings.SolveS+r.Timings.SimulateS
			}
		}
		estimate := cost(p.Variant[b[0]])
		one := timed{&p.Sweep.Cells[b[0]], estimate.Seconds + minCost, took}
		if took > 0 {
			known[one.Policy], known[""] = append(known[one.Policy], one), append(known[""], one)
		}
		switch {
		case lacks == 0:
			continue
		case there:
			f.Seconds += took // to decide once more
		default:
			missing = append(missing, one)
		}
		f.Missing += lacks
		f.Cost = f.Cost.Plus(estimate)
	}
	paces, unsure := map[string]*pace{}, 0.0
	for _, c := range missing {
		by := c.Policy
		if known[by] == nil {
			f.Unknown, by = true, ""
		}
		if paces[by] == nil {
			paces[by] = newPace(&p.Sweep, known[by])
		}
		took, explored := paces[by].next(c)
		f.Seconds += took
		if by == "" || !explored {
			unsure += took
		}
	}
	if len(known) == 0 {
		f.Seconds = f.Cost.Seconds
	}
	f.Rough = 2*unsure >= f.Seconds && f.Missing > 0
	return f, nil
}

// timed is a cell with the seconds that it is estimated to take, and those that it took.
type timed struct {
	*result.Cell
	estimate, took float64
}

// ratio returns how many times its estimate a cell took.
func (c *timed) ratio() float64 { return c.took / c.estimate }

// pace predicts the times of cells of a policy from those of others.
type pace struct {
	shares       []bool // by axis: cells that differ in it alone share most of their work
	begun        map[string]bool
	firsts, rest *product
	alone        []int // by axis: the only value of a cell with a time, -1 of several
}

func newPace(s *result.Sweep, cells []timed) *pace {
	p := &pace{begun: map[string]bool{}}
	for a := range s.Axes {
		lines := map[string][]float64{} // along the axis
		p.alone = append(p.alone, -1)
		for i, c := range cells {
			key := fmt.Sprint(slices.Delete(slices.Clone(c.At), a, a+1))
			lines[key] = append(lines[key], c.ratio())
			if i == 0 {
				p.alone[a] = c.At[a]
			} else if p.alone[a] != c.At[a] {
				p.alone[a] = -1
			}
		}
		const most = 0.01 // of the first one's time, that those take which follow
		shared, of := 0, 0
		for _, took := range lines {
			if n := float64(len(took)); n > 1 {
				of++
				if longest := slices.Max(took); floats.Sum(took)-longest < most*longest*(n-1) {
					shared++
				}
			}
		}
		p.shares = append(p.shares, of > 0 && 2*shared > of)
	}
	longest := map[string]int{}
	for i, c := range cells {
		key := p.group(c.At)
		if k, ok := longest[key]; !ok || cells[k].ratio() < c.ratio() {
			longest[key] = i
		}
		p.begun[key] = true
	}
	var firsts, rest []timed
	for i, c := range cells {
		if longest[p.group(c.At)] == i {
			firsts = append(firsts, c)
		} else {
			rest = append(rest, c)
		}
	}
	p.firsts, p.rest = newProduct(s, firsts), newProduct(s, rest)
	return p
}

// group names the cells that share most of their work with one at a place.
func (p *pace) group(at []int) string {
	var key []byte
	for a, v := range at {
		if !p.shares[a] {
			key = fmt.Append(key, v, " ")
		}
	}
	return string(key)
}

// next returns the seconds that the next cell takes, and whether cells with a time have its value of each axis, or several
// values.
func (p *pace) next(c timed) (took float64, explored bool) {
	of := p.firsts
	if key := p.group(c.At); p.begun[key] {
		of = p.rest
	} else {
		p.begun[key] = true
	}
	explored = true
	for a, v := range c.At {
		explored = explored && (p.alone[a] < 0 || p.alone[a] == v)
	}
	return c.estimate * of.of(c.At), explored
}

// product is a product of factors fitted to ratios of times to estimates: logarithms are sums.
type product struct {
	mean    float64     // of logarithms
	effects [][]float64 // by axis and value; NaN of those without cells
	scale   float64     // makes the sum of the fitted times that of the times
}

// rounds is how often effects of the axes are fitted to what the others leave.
const rounds = 12

func newProduct(s *result.Sweep, cells []timed) *product {
	p := &product{scale: 1}
	if len(cells) == 0 {
		p.scale = 0
		return p
	}
	for _, c := range cells {
		p.mean += math.Log(c.ratio()) / float64(len(cells))
	}
	for _, a := range s.Axes {
		p.effects = append(p.effects, make([]float64, len(a.Labels)))
	}
	for range rounds {
		for a, effects := range p.effects {
			sum, n := make([]float64, len(effects)), make([]float64, len(effects))
			for _, c := range cells {
				v := c.At[a]
				sum[v] += math.Log(c.ratio()) - p.log(c.At) + effects[v]
				n[v]++
			}
			for v := range effects {
				effects[v] = sum[v] / n[v] // NaN of none
			}
		}
	}
	took, fitted := 0.0, 0.0
	for _, c := range cells {
		took, fitted = took+c.took, fitted+c.estimate*math.Exp(p.log(c.At))
	}
	p.scale = took / fitted
	return p
}

// of returns the ratio of a cell at a place.
func (p *product) of(at []int) float64 { return p.scale * math.Exp(p.log(at)) }

func (p *product) log(at []int) float64 {
	sum := p.mean
	for a, effects := range p.effects {
		for d := range effects { // the nearest value that is known
			if lo := at[a] - d; lo >= 0 && !math.IsNaN(effects[lo]) {
				sum += effects[lo]
				break
			}
			if hi := at[a] + d; hi < len(effects) && !math.IsNaN(effects[hi]) {
				sum += effects[hi]
				break
			}
		}
	}
	return sum
}
