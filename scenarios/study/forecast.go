// This file predicts the time to compute a sweep, for the command before it starts.

package study

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"sim/internal/parallel"
	"sim/scenarios"
	"sim/scenarios/result"
)

// Forecast is the expected time to compute the missing cells of a sweep.
type Forecast struct {
	Missing int     // number of missing cells
	Seconds float64 // processor seconds
	// Cost is the cost estimate of the models, without measured times.
	Cost scenarios.Cost
	// Unknown reports whether no cell of some missing cell's policy has a time.
	Unknown bool
	// Rough reports whether at least half of Seconds is for policies without measured
	// times, or for values of an axis with a single measured value.
	Rough bool
}

// Wall returns the wall-clock seconds with a number of processors.
func (f *Forecast) Wall(workers int) float64 {
	return f.Seconds / float64(max(1, min(workers, f.Missing)))
}

// maxCostEstimates is the maximum number of variants with cost estimates. An estimate takes
// about a millisecond. In larger sweeps, it applies to several consecutive variants.
const maxCostEstimates = 2000

// minCellSeconds is added to every estimate: the minimum time of a cell in seconds.
const minCellSeconds = 0.001

// costs returns a function that returns the cost estimate of a variant. It computes the
// estimates at the first call. It fails only if ctx ends.
func (p *Plan) costs(ctx context.Context) (func(variant int) scenarios.Cost, error) {
	variants := 0
	for _, v := range p.Variant {
		variants = max(variants, v+1)
	}
	// Estimate every every-th variant.
	every := 1 + variants/maxCostEstimates
	if p.costEstimates == nil {
		list := make([]scenarios.Cost, 1+variants/every)
		if err := parallel.Do(ctx, runtime.GOMAXPROCS(0), (variants+every-1)/every, func(k int) {
			if s, err := p.Study.Variant(k * every); err == nil { // invalid variants cost nothing
				list[k], _ = s.Cost(ctx)
			}
		}); err != nil {
			return nil, err
		}
		p.costEstimates = list
	}
	return func(variant int) scenarios.Cost { return p.costEstimates[variant/every] }, nil
}

// Forecast predicts the time of the cells that store does not have, from the times of
// stored cells and of samples, which are measured missing cells. It fails only if ctx
// ends.
//
// The model is multiplicative: the time of a cell is its cost estimate times a factor of
// its policy times a factor of each axis value. A value without measured cells has the
// factor of the nearest measured value. Cells that differ only in certain axes may share
// most of their work, such as cached plans. The first cell of such a group then has the
// predicted time of first cells, and the others have the predicted time of other cells.
// Cells with the same decision are counted once.
func (p *Plan) Forecast(ctx context.Context, store *Store, samples map[string]*Record) (*Forecast, error) {
	if !slices.ContainsFunc(p.Sweep.Cells, func(c result.Cell) bool { return !store.Has(c.Key) }) {
		return &Forecast{}, nil
	}
	cost, err := p.costs(ctx)
	if err != nil {
		return nil, err
	}

	// Collect the batches without a measured time, and the measured ones by policy. The policy
	// "" stands for all policies. A batch is the cells with the same decision; see local.go.
	f, measured := &Forecast{}, map[string][]timedCell{}
	var missing []timedCell
	for _, b := range batchesByDecision(p, indices(len(p.Sweep.Cells))) {
		numMissing, hasTime, elapsed := 0, false, 0.0
		for _, i := range b {
			key := p.Sweep.Cells[i].Key
			r := store.records[key]
			if r == nil {
				numMissing++
				r = samples[key]
			}
			if r != nil {
				hasTime, elapsed = true, elapsed+r.Timings.SolveS+r.Timings.SimulateS
			}
		}
		estimate := cost(p.Variant[b[0]])
		one := timedCell{Cell: &p.Sweep.Cells[b[0]], estimate: estimate.Seconds + minCellSeconds, elapsed: elapsed}
		if elapsed > 0 {
			measured[one.Policy], measured[""] = append(measured[one.Policy], one), append(measured[""], one)
		}
		switch {
		case numMissing == 0:
			continue
		case hasTime:
			f.Seconds += elapsed // the decision is made again
		default:
			missing = append(missing, one)
		}
		f.Missing += numMissing
		f.Cost = f.Cost.Add(estimate)
	}

	// Predict the missing batches with a model of their policy, or of all policies.
	models, uncertain := map[string]*timeModel{}, 0.0
	for _, c := range missing {
		policy := c.Policy
		if measured[policy] == nil {
			f.Unknown, policy = true, ""
		}
		if models[policy] == nil {
			models[policy] = newTimeModel(&p.Sweep, measured[policy])
		}
		elapsed, explored := models[policy].predict(c)
		f.Seconds += elapsed
		if policy == "" || !explored {
			uncertain += elapsed
		}
	}
	if len(measured) == 0 {
		f.Seconds = f.Cost.Seconds
	}
	f.Rough = 2*uncertain >= f.Seconds && f.Missing > 0
	return f, nil
}

// timedCell is a cell with its estimated and its measured seconds.
type timedCell struct {
	*result.Cell
	estimate, elapsed float64 // in seconds
}

// ratio returns the measured time divided by the estimate.
func (c *timedCell) ratio() float64 { return c.elapsed / c.estimate }

// timeModel predicts the times of cells of a policy from the times of other cells.
type timeModel struct {
	// sharesWork is indexed by axis. It is true if cells that differ only in the axis share most
	// of their work.
	sharesWork []bool
	// started are the keys of groups whose first cell has been measured or predicted.
	started                map[string]bool
	firstCells, otherCells *productModel
	// onlyValue is the only measured value of each axis, or -1 if there are several.
	onlyValue []int
}

// newTimeModel fits a model to measured cells.
func newTimeModel(s *result.Sweep, cells []timedCell) *timeModel {
	p := &timeModel{started: map[string]bool{}}
	for a := range s.Axes {
		// Ratios of cells that differ only along the axis, keyed by the other coordinates.
		lines := map[string][]float64{}
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
		// Cells of a line share work if the other cells take at most this fraction of the time
		// of the longest one, on average.
		const maxShare = 0.01
		// The axis counts as shared if most of its lines share work.
		shared, numLines := 0, 0
		for _, elapsed := range lines {
			if n := float64(len(elapsed)); n > 1 {
				numLines++
				if longest := slices.Max(elapsed); floats.Sum(elapsed)-longest < maxShare*longest*(n-1) {
					shared++
				}
			}
		}
		p.sharesWork = append(p.sharesWork, numLines > 0 && 2*shared > numLines)
	}

	// The slowest cell of each group is regarded as the first one.
	longest := map[string]int{}
	for i, c := range cells {
		key := p.groupKey(c.At)
		if k, ok := longest[key]; !ok || cells[k].ratio() < c.ratio() {
			longest[key] = i
		}
		p.started[key] = true
	}
	// Fit separate models to first cells and to other cells.
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

// groupKey identifies the cells that share most of their work with the cell at given
// coordinates.
func (p *timeModel) groupKey(at []int) string {
	var key []byte
	for a, v := range at {
		if !p.sharesWork[a] {
			key = fmt.Append(key, v, " ")
		}
	}
	return string(key)
}

// predict returns the seconds of the next cell. explored reports whether its value on
// each axis has been measured, or at least two other values.
func (p *timeModel) predict(c timedCell) (elapsed float64, explored bool) {
	model := p.firstCells
	if key := p.groupKey(c.At); p.started[key] {
		model = p.otherCells
	} else {
		p.started[key] = true
	}
	explored = true
	for a, v := range c.At {
		explored = explored && (p.onlyValue[a] < 0 || p.onlyValue[a] == v)
	}
	return c.estimate * model.ratio(c.At), explored
}

// productModel is a product of factors fitted to the ratios of measured times to
// estimates. The fit uses logarithms, so factors become sums of effects.
type productModel struct {
	mean float64 // mean logarithm of the ratios
	// effects has the logarithms of factors, indexed by axis and value. Values without cells
	// have NaN.
	effects [][]float64
	// scale corrects the sum of the fitted times to the sum of the measured times.
	scale float64
}

// fitRounds is the number of rounds of backfitting: each round fits the effects of one
// axis after the other to the residuals of the rest. The effects have converged by then.
const fitRounds = 12

// newProductModel fits a model to measured cells by backfitting (Friedman and Stuetzle,
// 1981).
func newProductModel(s *result.Sweep, cells []timedCell) *productModel {
	if len(cells) == 0 {
		return &productModel{} // predicts 0
	}
	p := &productModel{}
	for _, c := range cells {
		p.mean += math.Log(c.ratio()) / float64(len(cells))
	}
	for _, a := range s.Axes {
		p.effects = append(p.effects, make([]float64, len(a.Labels)))
	}

	// Each effect is the mean residual of the cells with its value.
	for range fitRounds {
		for a, effects := range p.effects {
			sum, n := make([]float64, len(effects)), make([]float64, len(effects))
			for _, c := range cells {
				v := c.At[a]
				sum[v] += math.Log(c.ratio()) - p.logRatio(c.At) + effects[v]
				n[v]++
			}
			for v := range effects {
				effects[v] = sum[v] / n[v] // NaN without cells
			}
		}
	}
	// Correct the sum, because the mean of logarithms underestimates long times.
	elapsed, fitted := 0.0, 0.0
	for _, c := range cells {
		elapsed, fitted = elapsed+c.elapsed, fitted+c.estimate*math.Exp(p.logRatio(c.At))
	}
	p.scale = elapsed / fitted
	return p
}

// ratio returns the predicted ratio of the cell at given coordinates.
func (p *productModel) ratio(at []int) float64 { return p.scale * math.Exp(p.logRatio(at)) }

// logRatio returns the logarithm of the unscaled ratio.
func (p *productModel) logRatio(at []int) float64 {
	sum := p.mean
	for a, effects := range p.effects {
		// Add the effect of the nearest measured value, at distance d.
		for d := range effects {
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
