package study

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"sim/scenarios/result"
)

// Remaining guesses the seconds of a processor that the cells take that store does not hold, by those that it holds: a cell's time is taken to be its policy's, times a factor for each value of an axis, or for the nearest value
// that is known. Where cells that differ in some axes alone share most of their work, as plans that are kept do, the
// first of them has the time of first ones, and those that follow of such. rough is true where most of the time is that of
// policies without a time yet, or of values of an axis of which one alone is known.
func (p *Plan) Remaining(store *Store) (seconds float64, rough bool) {
	known := map[string][]timed{}
	var missing []*result.Cell
	for _, b := range batches(p, upTo(len(p.Sweep.Cells))) {
		first, took, some := &p.Sweep.Cells[b[0]], 0.0, false
		for _, i := range b { // one decision serves all, in the time of the first
			if r := store.records[p.Sweep.Cells[i].Key]; r != nil {
				some, took = true, took+r.Timings.SolveS+r.Timings.SimulateS
			}
		}
		switch {
		case !some:
			missing = append(missing, first)
		case took > 0:
			known[first.Policy] = append(known[first.Policy], timed{first.At, took})
			known[""] = append(known[""], timed{first.At, took})
		}
	}
	paces, unsure := map[string]*pace{}, 0.0
	for _, c := range missing {
		by := c.Policy
		if known[by] == nil {
			by = ""
		}
		if paces[by] == nil {
			paces[by] = newPace(&p.Sweep, known[by])
		}
		took, explored := paces[by].next(c.At)
		seconds += took
		if by == "" || !explored {
			unsure += took
		}
	}
	return seconds, 2*unsure >= seconds && len(missing) > 0
}

// timed is how long a cell at a place took.
type timed struct {
	at    []int
	tookS float64
}

// pace is what the times of a policy's cells tell of others.
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
			key := fmt.Sprint(slices.Delete(slices.Clone(c.at), a, a+1))
			lines[key] = append(lines[key], c.tookS)
			if i == 0 {
				p.alone[a] = c.at[a]
			} else if p.alone[a] != c.at[a] {
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
		key := p.group(c.at)
		if k, ok := longest[key]; !ok || cells[k].tookS < c.tookS {
			longest[key] = i
		}
		p.begun[key] = true
	}
	var firsts, rest []timed
	for i, c := range cells {
		if longest[p.group(c.at)] == i {
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

// next is the time of the next cell, at a place, and whether values are known of every axis that tell of its own.
func (p *pace) next(at []int) (took float64, explored bool) {
	of := p.firsts
	if key := p.group(at); p.begun[key] {
		of = p.rest
	} else {
		p.begun[key] = true
	}
	explored = true
	for a, v := range at {
		explored = explored && (p.alone[a] < 0 || p.alone[a] == v)
	}
	return of.of(at), explored
}

// product is a product of factors fitted to times: logarithms are sums.
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
		p.mean += math.Log(c.tookS) / float64(len(cells))
	}
	for _, a := range s.Axes {
		p.effects = append(p.effects, make([]float64, len(a.Labels)))
	}
	for range rounds {
		for a, effects := range p.effects {
			sum, n := make([]float64, len(effects)), make([]float64, len(effects))
			for _, c := range cells {
				v := c.at[a]
				sum[v] += math.Log(c.tookS) - p.log(c.at) + effects[v]
				n[v]++
			}
			for v := range effects {
				effects[v] = sum[v] / n[v] // NaN of none
			}
		}
	}
	took, fitted := 0.0, 0.0
	for _, c := range cells {
		took, fitted = took+c.tookS, fitted+math.Exp(p.log(c.at))
	}
	p.scale = took / fitted
	return p
}

// of is the time of a cell at a place.
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
