package fleets

import (
	"cmp"
	"slices"

	"sim/workloads/fleet"
)

// class is what jobs have in common that decides whether one fits.
type class struct {
	shape   fleet.Shape
	routes  bool
	strange bool
	band    fleet.Band
}

// line holds the jobs of a class that wait, in order.
type line struct {
	class
	jobs    []*job
	blocked bool // none fits since something was last freed
}

// queue holds jobs that wait.
type queue struct {
	lines map[class]*line
	order []*line // by band, those that were interrupted first; then as they came up
	freed bool    // something changed since lines were tried
	n     int
}

func newQueue() queue { return queue{lines: map[class]*line{}} }

// before orders jobs that wait: by band, those that were interrupted first, then by submission.
func before(a, b *job) int {
	return cmp.Or(cmp.Compare(a.Band, b.Band), -compareBool(a.strange, b.strange), cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Number, b.Number))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// add puts a job where it belongs.
func (q *queue) add(j *job) {
	key := class{j.Shape, j.Routes, j.strange, j.Band}
	l := q.lines[key]
	if l == nil {
		l = &line{class: key}
		q.lines[key] = l
		q.order = append(q.order, l)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, before)
	l.jobs = slices.Insert(l.jobs, i, j)
	q.n++
}

// first returns the line whose job comes first, of all or of those that are not blocked; nil if there is none.
func (q *queue) first(all bool) *line {
	var best *line
	for _, l := range q.order {
		if len(l.jobs) > 0 && (all || !l.blocked) && (best == nil || before(l.jobs[0], best.jobs[0]) < 0) {
			best = l
		}
	}
	return best
}

// pop removes the first job of a line.
func (q *queue) pop(l *line) *job {
	j := l.jobs[0]
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	q.n--
	return j
}

// unblock lets all lines be tried again if something was freed.
func (q *queue) unblock() {
	if !q.freed {
		return
	}
	for _, l := range q.order {
		l.blocked = false
	}
	q.freed = false
}
