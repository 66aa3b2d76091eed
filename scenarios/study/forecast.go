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

// maxCostEstimates bounds the variants whose costs are estimated. In a larger sweep each stands for those behind it.
const maxCostEstimates = 2000

// minCellSeconds is the seconds that a cell takes at least.
const minCellSeconds = 0.001

// costs returns a function that returns the cost of a variant. It fails only if ctx ends.
func (p *Plan) costs(ctx context.Context) (func(variant int) scenarios.Cost, error) {
	variants := 0
	for _, v := range p.Variant {
		variants = max(variants, v+1)
	}
	every := 1 + variants/maxCostEstimates
	if p.costEstimates == nil {
		list := make([]scenarios.Cost, 1+variants/every)
		if err := parallel(ctx, runtime.GOMAXPROCS(0), (variants+every-1)/every, func(k int) {
			if s, err := p.Study.Variant(k * every); err == nil { // else its cells fail
				list[k], _ = s.Cost(ctx)
			}
		}); err != nil {
			return nil, err
		}
		p.costEstimates = list
	}
	return func(variant int) scenarios.Cost { return p.costEstimates[variant/every] }, nil
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
	f, known := &Forecast{}, map[string][]timedCell{}
	var missing []timedCell // without a time
	for _, b := range batchesByDecision(p, indices(len(p.Sweep.Cells))) {
		lacks, there, elapsed := 0, false, 0.0
		for _, i := range b {
			key := p.Sweep.Cells[i].Key
			r := store.records[key]
			if r == nil {
				lacks++
				r = samples[key]
			}
			if r != nil {
				there, elapsed = true, elapsed+r.Timings.SolveS+r.Timings.SimulateS
			}
		}
		estimate := cost(p.Variant[b[0]])
		one := timedCell{&p.Sweep.Cells[b[0]], estimate.Seconds + minCellSeconds, elapsed}
		if elapsed > 0 {
			known[one.Policy], known[""] = append(known[one.Policy], one), append(known[""], one)
		}
		switch {
		case lacks == 0:
			continue
		case there:
			f.Seconds += elapsed // to decide once more
		default:
			missing = append(missing, one)
		}
		f.Missing += lacks
		f.Cost = f.Cost.Plus(estimate)
	}
	paces, unsure := map[string]*timeModel{}, 0.0
	for _, c := range missing {
		by := c.Policy
		if known[by] == nil {
			f.Unknown, by = true, ""
		}
		if paces[by] == nil {
			paces[by] = newTimeModel(&p.Sweep, known[by])
		}
		elapsed, explored := paces[by].predict(c)
		f.Seconds += elapsed
		if by == "" || !explored {
			unsure += elapsed
		}
	}
	if len(known) == 0 {
		f.Seconds = f.Cost.Seconds
	}
	f.Rough = 2*unsure >= f.Seconds && f.Missing > 0
	return f, nil
}

// timedCell is a cell with the seconds that it is estimated to take, and those that it took.
type timedCell struct {
	*result.Cell
	estimate, elapsed float64
}

// ratio returns how many times its estimate a cell took.
func (c *timedCell) ratio() float64 { return c.elapsed / c.estimate }

// timeModel predicts the times of cells of a policy from those of others.
type timeModel struct {
	sharesWork             []bool // by axis: cells that differ in it alone share most of their work
	started                map[string]bool
	firstCells, otherCells *productModel
	onlyValue              []int // by axis: the only value of a cell with a time, -1 of several
}

func newTimeModel(s *result.Sweep, cells []timedCell) *timeModel {
	p := &timeModel{started: map[string]bool{}}
	for a := range s.Axes {
		lines := map[string][]float64{} // along the axis
		p.onlyValue = append(p.onlyValue, -1)
		for i, c := range cells {
			key := fmt.Sprint(slices.Delete(slices.Clone(c.At), a, a+1))
			lines[key] = append(lines[key], c.ratio())
			if i == 0 {
				p.onlyValue[a] = c.At[a]
			} else if p.onlyValue[a] != c.At[a] {
				p.onlyValue[a] = -1
			}
		}
		const most = 0.01 // of the first one's time, that those take which follow
		shared, of := 0, 0
		for _, elapsed := range lines {
			if n := float64(len(elapsed)); n > 1 {
				of++
				if longest := slices.Max(elapsed); floats.Sum(elapsed)-longest < most*longest*(n-1) {
					shared++
				}
			}
		}
		p.sharesWork = append(p.sharesWork, of > 0 && 2*shared > of)
	}
	longest := map[string]int{}
	for i, c := range cells {
		key := p.groupKey(c.At)
		if k, ok := longest[key]; !ok || cells[k].ratio() < c.ratio() {
			longest[key] = i
		}
		p.started[key] = true
	}
	var firsts, rest []timedCell
	for i, c := range cells {
		if longest[p.groupKey(c.At)] == i {
			firsts = append(firsts, c)
		} else {
			rest = append(rest, c)
		}
	}
	p.firstCells, p.otherCells = newProductModel(s, firsts), newProductModel(s, rest)
	return p
}

// groupKey names the cells that share most of their work with one at a place.
func (p *timeModel) groupKey(at []int) string {
	var key []byte
	for a, v := range at {
		if !p.sharesWork[a] {
			key = fmt.Append(key, v, " ")
		}
	}
	return string(key)
}

// predict returns the seconds that the next cell takes, and whether cells with a time have its value of each axis, or several
// values.
func (p *timeModel) predict(c timedCell) (elapsed float64, explored bool) {
	of := p.firstCells
	if key := p.groupKey(c.At); p.started[key] {
		of = p.otherCells
	} else {
		p.started[key] = true
	}
	explored = true
	for a, v := range c.At {
		explored = explored && (p.onlyValue[a] < 0 || p.onlyValue[a] == v)
	}
	return c.estimate * of.ratio(c.At), explored
}

// productModel is a product of factors fitted to ratios of times to estimates: logarithms are sums.
type productModel struct {
	mean    float64     // of logarithms
	effects [][]float64 // by axis and value; NaN of those without cells
	scale   float64     // makes the sum of the fitted times that of the times
}

// fitRounds is how often effects of the axes are fitted to what the others leave.
const fitRounds = 12

func newProductModel(s *result.Sweep, cells []timedCell) *productModel {
	p := &productModel{scale: 1}
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
	for range fitRounds {
		for a, effects := range p.effects {
			sum, n := make([]float64, len(effects)), make([]float64, len(effects))
			for _, c := range cells {
				v := c.At[a]
				sum[v] += math.Log(c.ratio()) - p.logRatio(c.At) + effects[v]
				n[v]++
			}
			for v := range effects {
				effects[v] = sum[v] / n[v] // NaN of none
			}
		}
	}
	elapsed, fitted := 0.0, 0.0
	for _, c := range cells {
		elapsed, fitted = elapsed+c.elapsed, fitted+c.estimate*math.Exp(p.logRatio(c.At))
	}
	p.scale = elapsed / fitted
	return p
}

// ratio returns the ratio of a cell at a place.
func (p *productModel) ratio(at []int) float64 { return p.scale * math.Exp(p.logRatio(at)) }

func (p *productModel) logRatio(at []int) float64 {
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
