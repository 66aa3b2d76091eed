package fleets

import (
	"cmp"
	"slices"

	"sim/workloads/fleet"
)

// jobClass is what jobs have in common that decides whether one fits.
type jobClass struct {
	shape               fleet.Shape
	acceptsFaultRouting bool
	returned            bool
	band                fleet.Band
}

// classQueue holds the jobs of a class that wait, in order.
type classQueue struct {
	jobClass
	jobs    []*fleetJob
	triedAt int64 // clock of the queue at which there was no room for any
	next    int   // index in jobs of the one that is tried next
}

// jobQueue holds jobs that wait.
type jobQueue struct {
	lines     map[jobClass]*classQueue
	order     []*classQueue // by band, those that were interrupted first; then as they came up
	clock     int64         // counts when lines are tried
	freedPods []int         // pods by when something there was last freed, the latest first
	freedAt   []int64       // when that was, by pod
	tried     []*classQueue
	podBuffer []int
}

func newQueue(pods int) jobQueue {
	q := jobQueue{lines: map[jobClass]*classQueue{}, clock: 1}
	for p := range pods {
		q.freedPods, q.freedAt = append(q.freedPods, p), append(q.freedAt, 1)
	}
	return q
}

// noteFreed notes that jobs may fit a pod that did not.
func (q *jobQueue) noteFreed(pod int) {
	q.freedAt[pod] = q.clock
	i := slices.Index(q.freedPods, pod)
	copy(q.freedPods[1:i+1], q.freedPods[:i])
	q.freedPods[0] = pod
}

// isBlocked reports whether the jobs of a line fit nowhere, for all that is known.
func (q *jobQueue) isBlocked(l *classQueue) bool { return q.freedAt[q.freedPods[0]] <= l.triedAt }

// openPods lists the pods that the jobs of a line may fit, in order, until it is asked again.
func (q *jobQueue) openPods(l *classQueue) []int {
	q.podBuffer = q.podBuffer[:0]
	for _, p := range q.freedPods {
		if q.freedAt[p] <= l.triedAt {
			break
		}
		q.podBuffer = append(q.podBuffer, p)
	}
	slices.Sort(q.podBuffer)
	return q.podBuffer
}

// compareJobs orders jobs that wait: by band, those that were interrupted first, then by submission.
func compareJobs(a, b *fleetJob) int {
	if c := cmp.Compare(a.Band, b.Band); c != 0 {
		return c
	}
	if a.returned != b.returned {
		if a.returned {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Number, b.Number))
}

// add puts a job where it belongs.
func (q *jobQueue) add(j *fleetJob) {
	key := jobClass{j.Shape, j.AcceptsFaultRouting, j.returned, j.Band}
	l := q.lines[key]
	if l == nil {
		l = &classQueue{jobClass: key}
		q.lines[key] = l
		q.order = append(q.order, l)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Insert(l.jobs, i, j)
}

// first returns the line whose job comes first, nil if none waits.
func (q *jobQueue) first() *classQueue {
	var best *classQueue
	for _, l := range q.order {
		if len(l.jobs) > 0 && (best == nil || compareJobs(l.jobs[0], best.jobs[0]) < 0) {
			best = l
		}
	}
	return best
}

// remove removes job i of a line.
func (q *jobQueue) remove(l *classQueue, i int) {
	if i > 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
		return
	}
	l.jobs[0] = nil // in constant time, which slices.Delete is not
	l.jobs = l.jobs[1:]
}
