package topology_test

import (
	"cmp"
	"math"
	"slices"
)

// exactInstance is a small problem in the form of the exact search: transfers, their precedence
// and resources. Times are in milliseconds, capacities and volumes in circuits.
type exactInstance struct {
	work    []float64   // in circuit-milliseconds
	release []float64   // from the start
	before  [][]float64 // before[i][j] is the lag from transfer j to transfer i; NaN if i does not depend on j
	tail    []float64   // from the end of the transfer to the sink
	use     [][]float64 // weights, indexed by resource and transfer
	cap     []float64   // capacity, indexed by resource

	// full is the minimum duration of each transfer; span adds the longest path after it.
	full, span []float64
	order      []event // events fixed so far
	best       float64
	programs   int                                 // number of linear programs solved
	sample     func(*linearProgram, float64, bool) // if not nil, called for each program
}

// event is the start or the end of a transfer.
type event struct {
	task int
	end  bool
}

// optimum returns the minimum makespan for any sharing of capacity, or false if it needs
// too many linear programs. It is a branch and bound over the orders of starts and ends.
// For a given order, the best rates are a linear program. For a prefix of an order, the
// remaining transfers are relaxed to their fastest paths and the loads of resources.
func (z *exactInstance) optimum(best float64, maxPrograms int) (float64, bool) {
	n := len(z.work)
	z.full, z.span = make([]float64, n), make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		for r, c := range z.cap {
			z.full[i] = max(z.full[i], z.work[i]*z.use[r][i]/c)
		}
		after := z.tail[i]
		for j := i + 1; j < n; j++ {
			if lag := z.before[j][i]; !math.IsNaN(lag) {
				after = max(after, lag+z.span[j])
			}
		}
		z.span[i] = z.full[i] + after
	}

	z.best, z.programs, z.order = best, 0, z.order[:0]
	z.branch(maxPrograms)
	return z.best, z.programs < maxPrograms
}

// accuracy of optima in milliseconds: much larger than the error of the simplex method
// and much smaller than relevant differences.
const accuracy = 1e-6

// branch extends the current order by each possible event, in the order of bounds.
func (z *exactInstance) branch(maxPrograms int) {
	type child struct {
		e     event
		bound float64
	}

	var children []child
	for i := range z.work {
		started, ended := z.placed(i)
		if ended >= 0 {
			continue
		}
		e := event{i, started >= 0}
		if !e.end && slices.ContainsFunc(seqOf(len(z.work)), func(j int) bool {
			_, done := z.placed(j)
			return !math.IsNaN(z.before[i][j]) && done < 0
		}) {
			continue
		}
		if z.programs++; z.programs >= maxPrograms {
			return
		}
		z.order = append(z.order, e)
		p := z.program()
		value, _, ok := p.solve()
		if z.sample != nil {
			z.sample(p, value, ok)
		}
		z.order = z.order[:len(z.order)-1]
		if ok && value < z.best-accuracy {
			children = append(children, child{e, value})
		}
	}

	slices.SortStableFunc(children, func(a, b child) int { return cmp.Compare(a.bound, b.bound) })
	for _, c := range children {
		if c.bound >= z.best-accuracy {
			continue
		}
		z.order = append(z.order, c.e)
		if len(z.order) == 2*len(z.work) {
			z.best = c.bound
		} else {
			z.branch(maxPrograms)
		}
		z.order = z.order[:len(z.order)-1]
	}
}

// seqOf returns 0, 1, ..., n-1.
func seqOf(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// placed returns the positions of the start and the end of transfer i in the order; -1 if
// they are not in it.
func (z *exactInstance) placed(i int) (start, end int) {
	return slices.Index(z.order, event{i, false}), slices.Index(z.order, event{i, true})
}

// program returns the linear program of the current order. Variable 0 is the makespan,
// 1+k the time between events k-1 and k. Then follows the work done, for each transfer
// and interval.
func (z *exactInstance) program() *linearProgram {
	n, m := len(z.work), len(z.order)
	p := &linearProgram{n: 1 + m + n*m}
	done := func(i, k int) int { return 1 + m + i*m + k }
	row := func() []float64 { return make([]float64, p.n) }

	// time adds f times the time of event k to a row.
	time := func(r []float64, k int, f float64) []float64 {
		for l := 0; l <= k; l++ {
			r[1+l] += f
		}
		return r
	}

	active := func(i, k int) bool {
		s, e := z.placed(i)
		return s >= 0 && k > s && (e < 0 || k <= e)
	}

	for r, c := range z.cap {
		for k := range m {
			load, any := row(), false
			for i := range n {
				if z.use[r][i] > 0 && active(i, k) {
					load[done(i, k)], any = z.use[r][i], true
				}
			}
			if any {
				load[1+k] = -c
				p.add(false, 0, load)
			}
		}
	}

	for i := range n {
		s, e := z.placed(i)
		if s < 0 {
			p.add(false, -z.release[i]-z.span[i], plus(row(), 0, -1))
			last := row()
			if m > 0 {
				time(last, m-1, 1)
			}
			p.add(false, -z.span[i], plus(last, 0, -1))
			continue
		}
		p.add(false, -z.release[i], time(row(), s, -1))
		for j, lag := range z.before[i] {
			if _, end := z.placed(j); !math.IsNaN(lag) {
				p.add(false, -lag, time(time(row(), s, -1), end, 1))
			}
		}
		moved := row()
		for k := range m {
			if active(i, k) {
				moved[done(i, k)] = 1
			}
		}
		behind := z.span[i] - z.full[i]
		if e >= 0 {
			p.add(true, z.work[i], moved)
			p.add(false, -behind, plus(time(row(), e, 1), 0, -1))
			continue
		}
		p.add(false, z.work[i], moved)
		rest := time(row(), m-1, 1)
		for k := range m {
			if active(i, k) {
				rest[done(i, k)] = -z.full[i] / z.work[i]
			}
		}
		p.add(false, -z.span[i], plus(rest, 0, -1))
	}

	for r, c := range z.cap { // remaining work on r, then the shortest path to the end
		left, shortest, work := row(), math.Inf(1), 0.0
		if m > 0 {
			time(left, m-1, 1)
		}
		for i := range n {
			if _, e := z.placed(i); e >= 0 || z.use[r][i] == 0 {
				continue
			}
			shortest = min(shortest, z.span[i]-z.full[i])
			work += z.work[i] * z.use[r][i] / c
			for k := range m {
				if active(i, k) {
					left[done(i, k)] -= z.use[r][i] / c
				}
			}
		}
		if work > 0 {
			p.add(false, -work-shortest, plus(left, 0, -1))
		}
	}
	return p
}

// plus adds f to the coefficient of variable k.
func plus(row []float64, k int, f float64) []float64 {
	row[k] += f
	return row
}
