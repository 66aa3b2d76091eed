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
	jobs []*job
	seen int64 // clock of the queue at which there was no room for any
	next int   // index in jobs of the one that is tried next
}

// queue holds jobs that wait.
type queue struct {
	lines map[class]*line
	order []*line // by band, those that were interrupted first; then as they came up
	clock int64   // counts when lines are tried
	fresh []int   // pods by when something there was last freed, the latest first
	since []int64 // when that was, by pod
	tried []*line
	where []int
}

func newQueue(pods int) queue {
	q := queue{lines: map[class]*line{}, clock: 1}
	for p := range pods {
		q.fresh, q.since = append(q.fresh, p), append(q.since, 1)
	}
	return q
}

// touch notes that jobs may fit a pod that did not.
func (q *queue) touch(pod int) {
	q.since[pod] = q.clock
	i := slices.Index(q.fresh, pod)
	copy(q.fresh[1:i+1], q.fresh[:i])
	q.fresh[0] = pod
}

// blocked reports whether the jobs of a line fit nowhere, for all that is known.
func (q *queue) blocked(l *line) bool { return q.since[q.fresh[0]] <= l.seen }

// pods lists the pods that the jobs of a line may fit, in order, until it is asked again.
func (q *queue) pods(l *line) []int {
	q.where = q.where[:0]
	for _, p := range q.fresh {
		if q.since[p] <= l.seen {
			break
		}
		q.where = append(q.where, p)
	}
	slices.Sort(q.where)
	return q.where
}

// before orders jobs that wait: by band, those that were interrupted first, then by submission.
func before(a, b *job) int {
	if c := cmp.Compare(a.Band, b.Band); c != 0 {
		return c
	}
	if a.strange != b.strange {
		if a.strange {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Number, b.Number))
}

// add puts a job where it belongs.
func (q *queue) add(j *job) {
	key := class{j.Shape, j.AcceptsFaultRouting, j.strange, j.Band}
	l := q.lines[key]
	if l == nil {
		l = &line{class: key}
		q.lines[key] = l
		q.order = append(q.order, l)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, before)
	l.jobs = slices.Insert(l.jobs, i, j)
}

// first returns the line whose job comes first, nil if none waits.
func (q *queue) first() *line {
	var best *line
	for _, l := range q.order {
		if len(l.jobs) > 0 && (best == nil || before(l.jobs[0], best.jobs[0]) < 0) {
			best = l
		}
	}
	return best
}

// remove removes job i of a line.
func (q *queue) remove(l *line, i int) {
	if i > 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
		return
	}
	l.jobs[0] = nil // in constant time, which slices.Delete is not
	l.jobs = l.jobs[1:]
}
