// This file holds the waiting jobs, grouped so that a placement is not tried in vain: jobs
// of one class fit the same pods, and a pod has to be tried again only after it changed.

package fleets

import (
	"cmp"
	"slices"

	"sim/workloads/fleet"
)

// jobClass holds the properties that determine whether a job fits a pod. The jobs of a class
// share a queue.
type jobClass struct {
	shape               fleet.Shape
	acceptsFaultRouting bool // accepts paths around a failed switch
	returned            bool // may use reserved cubes
	band                fleet.Band
}

// classQueue holds the waiting jobs of a class, in the order of compareJobs.
type classQueue struct {
	jobClass
	cubes   int // of the slice of a job
	jobs    []*fleetJob
	triedAt int64 // jobQueue.clock of the last round in which no pod had space for the class
	next    int   // index in jobs of the job that is tried next
}

// jobQueue holds all waiting jobs. It records which pods have changed since the
// jobs of a class did not fit, so that only these pods are tried again.
type jobQueue struct {
	lines map[jobClass]*classQueue // queues by class
	order []*classQueue            // the same queues, in the order of their creation
	clock int64                    // number of the current scheduling round, from 1

	freedPods []int   // pods by the time of their last change, the latest first
	freedAt   []int64 // clock of the last change, indexed by pod

	tried     []*classQueue // reused by candidates
	podBuffer []int         // reused by openPods
}

// newQueue returns an empty queue for a number of pods.
func newQueue(pods int) jobQueue {
	const firstRound = 1
	q := jobQueue{lines: map[jobClass]*classQueue{}, clock: firstRound}
	for p := range pods {
		q.freedPods = append(q.freedPods, p)
		q.freedAt = append(q.freedAt, firstRound)
	}
	return q
}

// noteFreed records that a pod changed, so that jobs may fit now.
func (q *jobQueue) noteFreed(pod int) {
	q.freedAt[pod] = q.clock

	// Move the pod to the front of freedPods.
	i := slices.Index(q.freedPods, pod)
	copy(q.freedPods[1:i+1], q.freedPods[:i])
	q.freedPods[0] = pod
}

// isBlocked reports whether no pod has changed since the jobs of a class did not
// fit.
func (q *jobQueue) isBlocked(l *classQueue) bool {
	return q.freedAt[q.freedPods[0]] <= l.triedAt
}

// openPods returns the pods that have changed since the jobs of a class did not
// fit, in order. The result is valid until the next call.
func (q *jobQueue) openPods(l *classQueue) []int {
	q.podBuffer = q.podBuffer[:0]
	for _, p := range q.freedPods {
		if q.freedAt[p] <= l.triedAt {
			break
		}
		q.podBuffer = append(q.podBuffer, p)
	}

	// Pods are tried by number, so the result does not depend on the order of
	// changes.
	slices.Sort(q.podBuffer)
	return q.podBuffer
}

// compareJobs orders waiting jobs by band. Within a band, returned jobs come
// first, then the order of submission counts.
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

// add inserts a job into the queue of its class.
func (q *jobQueue) add(j *fleetJob) {
	key := jobClass{j.Shape, j.AcceptsFaultRouting, j.returned, j.Band}
	l := q.lines[key]
	if l == nil {
		l = &classQueue{jobClass: key, cubes: key.shape.Cubes()}
		q.lines[key] = l
		q.order = append(q.order, l)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Insert(l.jobs, i, j)
}

// first returns the queue whose first job comes first of all, or nil if no job
// waits. The number of classes is small, so a search is sufficient.
func (q *jobQueue) first() *classQueue {
	var best *classQueue
	for _, l := range q.order {
		if len(l.jobs) > 0 && (best == nil || compareJobs(l.jobs[0], best.jobs[0]) < 0) {
			best = l
		}
	}
	return best
}

// remove removes job i from the queue of its class.
func (q *jobQueue) remove(l *classQueue, i int) {
	if i > 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
		return
	}

	// The first job is removed in constant time, unlike with slices.Delete.
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
}
