// This file makes space for a job that fits nowhere: it moves running jobs to other places
// (defragmentation), or makes jobs of lower priority leave (preemption).

package fleets

import (
	"cmp"
	"slices"
	"sort"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// departure is a running job that may leave its place to make space for another
// job.
type departure struct {
	slot int32
	cost int64 // chip-time that the departure costs, in chip-milliseconds
}

// makeSpace makes other jobs leave a place for job j, which fits nowhere. It moves jobs to
// other places, or preempts jobs of lower bands. It reports whether it has reserved a place
// for j, which gets the place when the jobs have left.
func (s *simulation) makeSpace(j *fleetJob, pods []int) bool {
	// Moves cost less than preemptions, so they are tried first.
	if s.config.Defragment {
		for _, p := range pods {
			if s.allowedSlowdown(j, p) > 0 && s.defragment(j, p) {
				return true
			}
		}
	}

	if s.config.Preemption {
		for _, p := range pods {
			if s.allowedSlowdown(j, p) > 0 && s.preempt(j, p) {
				return true
			}
		}
	}

	return false
}

// departureCandidates returns the running jobs of pod p that mayLeave accepts, the
// cheapest first. cost returns the time that a departure costs the job. The result
// is valid until the next call.
func (s *simulation) departureCandidates(
	p int, cost func(j *fleetJob) fleet.Time, mayLeave func(j *fleetJob) bool,
) []departure {
	list := s.departures[:0]
	for c := range s.pods[p].slotsOnCube {
		for _, slot := range s.pods[p].slotsOnCube[c] {
			j := s.slots[slot]
			isFirstCube := int(j.place.Cubes[0]) == c // lists each job once
			if j.phase == phaseRunning && isFirstCube && mayLeave(j) {
				list = append(list, departure{slot: slot, cost: int64(j.Shape.Chips()) * int64(cost(j))})
			}
		}
	}

	s.departures = list
	slices.SortFunc(list, func(a, b departure) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.slot, b.slot))
	})
	return list
}

// isMovable reports whether a job was not preempted or moved within the last gap.
func (s *simulation) isMovable(j *fleetJob, gap fleet.Time) bool {
	return j.lastMove == 0 || s.now-j.lastMove >= gap
}

// findClearing finds a place for job j in pod p that becomes free if some
// candidates leave. It returns the place and the jobs that must leave.
//
// It takes the shortest prefix of the candidates, which are ordered by cost, with
// which the job fits. Then it removes each job from the prefix that is not needed,
// the most expensive first.
func (s *simulation) findClearing(
	j *fleetJob, p int, candidates []departure,
) (placement.Place, []departure, bool) {
	n := j.Shape.Cubes()
	if len(candidates) == 0 {
		return placement.Place{}, nil, false
	}

	// Check first whether all candidates together make enough space.
	if n > 0 && freeCubes(s.podWithout(p, candidates)) < n {
		return placement.Place{}, nil, false
	}
	fits := func(leaving []departure) (placement.Place, bool) {
		trial := s.podWithout(p, leaving)
		place, ok := s.policy.Place(trial, j.Shape)
		return place, ok && (j.returned || !s.usesReserve(trial, &place))
	}
	if _, ok := fits(candidates); !ok {
		return placement.Place{}, nil, false
	}

	// Find the shortest prefix by bisection: with more jobs gone, the job still fits.
	prefix := 1 + sort.Search(len(candidates)-1, func(i int) bool {
		_, ok := fits(candidates[:i+1])
		return ok
	})

	// Keep the jobs that need not leave.
	leaving := slices.Clone(candidates[:prefix])
	for i := len(leaving) - 1; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(leaving), i, i+1)
		if len(fewer) == 0 {
			continue
		}
		if _, ok := fits(fewer); ok {
			leaving = fewer
		}
	}

	// Only the jobs at the place that was found must leave.
	place, ok := fits(leaving)
	isElsewhere := func(d departure) bool { return !overlaps(s.pods[p].Pod, &s.slots[d.slot].place, &place) }
	return place, slices.DeleteFunc(leaving, isElsewhere), ok
}

// preempt makes jobs of lower bands leave a place in pod p for job j. It chooses
// the jobs with the lowest loss, and each job at most once per MinPreemptionGap
// (Verma et al., "Large-scale cluster management at Google with Borg", EuroSys 15,
// Sec. 2.5).
func (s *simulation) preempt(j *fleetJob, p int) bool {
	// A job with enough notice writes a checkpoint, and loses only the time of
	// this and of its restart.
	t := &s.config.Times
	writesCheckpoint := t.Notice >= t.Checkpoint
	cost := func(x *fleetJob) fleet.Time {
		if writesCheckpoint {
			return t.Checkpoint + s.setupTime(x)
		}
		return s.unsavedTime(x) + s.setupTime(x)
	}

	mayLeave := func(x *fleetJob) bool {
		return x.Band > j.Band && s.isMovable(x, s.config.MinPreemptionGap)
	}

	candidates := s.departureCandidates(p, cost, mayLeave)
	place, leaving, ok := s.findClearing(j, p, candidates)
	if !ok {
		return false
	}

	for _, d := range leaving {
		x := s.slots[d.slot]
		x.lastMove = s.now
		s.increment(&s.counters.Preemptions)
		if writesCheckpoint {
			s.checkpointAndRequeue(d.slot)
		} else {
			s.requeueReturned(d.slot)
		}
	}
	s.claimPlace(j, p, place)
	return true
}

// claimPlace reserves a place for a job from the queue.
func (s *simulation) claimPlace(j *fleetJob, p int, place placement.Place) {
	j.phase = phaseClaimed
	j.claim = s.addClaim(j, p, place)
}

// minMoveGap is the minimum time between two moves of a job for the sake of others. A move
// costs the job a checkpoint and a setup, about ten minutes with the default times.
const minMoveGap = fleet.Hour

// defragment moves running jobs to make space for job j in pod p: jobs smaller
// than a cube into fewer cubes, other jobs to other boxes of a grid or to another
// pod (TPU v4 paper, Sec. 3.3). It does so only if the moves take fewer
// chip-seconds than the expected wait of j times its chips.
func (s *simulation) defragment(j *fleetJob, p int) bool {
	// With one pod, moves do not change the number of idle chips.
	chips := j.Shape.Chips()
	if len(s.pods) == 1 {
		if s.account.unoccupied[Idle] < int64(chips) || idleChips(s.pods[p].Pod) < chips {
			return false
		}
	}

	cost := func(x *fleetJob) fleet.Time { return s.config.Times.Checkpoint + s.setupTime(x) }
	mayLeave := func(x *fleetJob) bool {
		return x.Shape.Chips() < chips && s.isMovable(x, minMoveGap)
	}
	candidates := s.departureCandidates(p, cost, mayLeave)
	place, leaving, ok := s.findClearing(j, p, candidates)
	if !ok {
		return false
	}
	total := int64(0)
	for _, d := range leaving {
		total += d.cost
	}

	// Place large jobs first.
	slices.SortStableFunc(leaving, func(a, b departure) int {
		return s.slots[b.slot].Shape.Chips() - s.slots[a.slot].Shape.Chips()
	})
	moves, ok := s.findPlaces(p, leaving, &place)
	if !ok || total >= int64(chips)*int64(s.reserve(j).start-s.now) {
		return false
	}
	for i, d := range leaving {
		x := s.slots[d.slot]
		x.lastMove = s.now
		s.increment(&s.counters.Migrations)
		s.checkpointAndLeave(d.slot, s.addClaim(x, moves[i].pod, moves[i].place))
	}
	s.claimPlace(j, p, place)
	return true
}

// findPlaces finds new places for jobs of pod p, in this pod or in another one.
// They must not overlap the place taken, nor the old place of the job. Paths
// around failed switches are not accepted.
func (s *simulation) findPlaces(p int, leaving []departure, taken *placement.Place) ([]claim, bool) {
	trials := map[int]*placement.Pod{} // copies of pods with the new places

	// A copy of a pod is made when it is needed.
	trial := func(q int) *placement.Pod {
		if trials[q] == nil {
			trials[q] = s.pods[q].Trial()
		}
		return trials[q]
	}

	s.removeJobs(trial(p), leaving)
	markUsed(trial(p), taken)
	var moves []claim
	for _, d := range leaving {
		x := s.slots[d.slot]
		found := false

		// Try the own pod first.
		for i := range s.pods {
			q := (p + i) % len(s.pods)
			if s.allowedSlowdown(x, q) != 1 {
				continue
			}
			place, ok := s.policy.Place(trial(q), x.Shape)
			if ok && (q != p || !overlaps(trial(q), &place, &x.place)) {
				markUsed(trial(q), &place)
				moves = append(moves, claim{job: x, pod: q, place: place})
				found = true
				break
			}
		}
		if !found {
			return nil, false
		}
	}

	return moves, true
}
