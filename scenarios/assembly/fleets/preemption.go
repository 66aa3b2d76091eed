package fleets

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// departure is a job that may leave its place, and the chip-milliseconds that this takes.
type departure struct {
	slot int32
	cost int64
}

// makeSpace has others leave a place for a job that fits nowhere: moves them elsewhere, or preempts those of lower bands.
// It reports whether a place is kept for it then.
func (s *simulation) makeSpace(j *fleetJob, pods []int) bool {
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

// departureCandidates lists the jobs of a pod that run and that ok takes, the cheapest first, until it is asked again.
func (s *simulation) departureCandidates(
	p int, cost func(j *fleetJob) fleet.Time, ok func(j *fleetJob) bool,
) []departure {
	list := s.departures[:0]
	for c := range s.pods[p].slotsOnCube {
		for _, slot := range s.pods[p].slotsOnCube[c] {
			if j := s.slots[slot]; j.phase == phaseRunning &&
				int(j.place.Cubes[0]) == c && ok(j) {
				list = append(list, departure{slot, int64(j.Shape.Chips()) * int64(cost(j))})
			}
		}
	}
	s.departures = list
	slices.SortFunc(list, func(a, b departure) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.slot, b.slot)) })
	return list
}

// isMovable reports whether a job has not been preempted or moved for a time.
func (s *simulation) isMovable(j *fleetJob, since fleet.Time) bool {
	return j.lastMove == 0 || s.now-j.lastMove >= since
}

// findClearing finds a place for a job in a pod that becomes free when few and cheap ones of the jobs that may leave do: the
// least number of the cheapest with whom it fits, less those without whom it does.
func (s *simulation) findClearing(
	j *fleetJob, p int, may []departure,
) (placement.Place, []departure, bool) {
	if n := j.Shape.Cubes(); len(may) == 0 ||
		n > 0 && bits.OnesCount64(s.podWithout(p, may).Free()) < n {
		return placement.Place{}, nil, false
	}
	fits := func(gone []departure) (placement.Place, bool) {
		trial := s.podWithout(p, gone)
		at, ok := s.policy.Place(trial, j.Shape)
		return at, ok && (j.returned || !s.usesReserve(trial, &at))
	}

	if _, ok := fits(may); !ok {
		return placement.Place{}, nil, false
	}
	n := 1 + sort.Search(len(may)-1, func(i int) bool {
		_, ok := fits(may[:i+1])
		return ok
	})

	gone := slices.Clone(may[:n])
	for i := len(gone) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(gone), i, i+1); len(less) > 0 {
			if _, ok := fits(less); ok {
				gone = less
			}
		}
	}

	at, ok := fits(gone)
	gone = slices.DeleteFunc(gone, func(l departure) bool { return !overlaps(&s.slots[l.slot].place, &at) })
	return at, gone, ok
}

// preempt has jobs of lower bands leave a place in a pod for a job: those that lose least, each once in a while at most
// (Verma et al., "Large-scale cluster management at Google with Borg", EuroSys 15, Sec. 2.5).
func (s *simulation) preempt(j *fleetJob, p int) bool {
	t := &s.config.Times
	saves := t.Notice >= t.Checkpoint
	may := s.departureCandidates(p, func(x *fleetJob) fleet.Time {
		if saves {
			return t.Checkpoint + s.setupTime(x)
		}
		return s.unsavedTime(x) + s.setupTime(x)
	}, func(x *fleetJob) bool { return x.Band > j.Band && s.isMovable(x, s.config.MinPreemptionGap) })

	at, gone, ok := s.findClearing(j, p, may)
	if !ok {
		return false
	}
	for _, l := range gone {
		x := s.slots[l.slot]
		x.lastMove = s.now
		s.increment(&s.counters.Preemptions)
		if saves {
			s.checkpointAndLeave(l.slot, nil)
		} else {
			s.requeue(l.slot, true)
		}
	}

	s.claimPlace(j, p, at)
	return true
}

// claimPlace keeps a place for a job from the queue.
func (s *simulation) claimPlace(j *fleetJob, p int, at placement.Place) {
	j.phase = phaseClaimed
	j.claim = s.addClaim(j, p, at)
}

// minMoveGap is how often a job is moved for others at most.
const minMoveGap = fleet.Hour

// defragment moves running jobs so that one fits which does not: jobs below a cube into fewer cubes, others into other
// boxes of a grid or to another pod (Sec. 3.3 of the paper). It does where that takes fewer chip-seconds than the job
// would wait, by users' estimates, times its chips.
func (s *simulation) defragment(j *fleetJob, p int) bool {
	if n := j.Shape.Chips(); len(s.pods) == 1 &&
		(s.account.unoccupied[Idle] < int64(n) || idleChips(s.pods[p].Pod) < n) {
		return false
	}
	may := s.departureCandidates(p, func(x *fleetJob) fleet.Time { return s.config.Times.Checkpoint + s.setupTime(x) }, func(x *fleetJob) bool {
		return x.Shape.Chips() < j.Shape.Chips() && s.isMovable(x, minMoveGap)
	})
	at, gone, ok := s.findClearing(j, p, may)
	if !ok {
		return false
	}
	cost := int64(0)
	for _, l := range gone {
		cost += l.cost
	}
	slices.SortStableFunc(gone, func(a, b departure) int { return s.slots[b.slot].Shape.Chips() - s.slots[a.slot].Shape.Chips() })
	moves, ok := s.findPlaces(p, gone, &at)
	if !ok || cost >= int64(j.Shape.Chips())*int64(s.reserve(j).start-s.now) {
		return false
	}
	for i, l := range gone {
		x := s.slots[l.slot]
		x.lastMove = s.now
		s.increment(&s.counters.Migrations)
		s.checkpointAndLeave(l.slot, s.addClaim(x, moves[i].pod, moves[i].place))
	}

	s.claimPlace(j, p, at)
	return true
}

// findPlaces finds places for the jobs of a pod that are to leave one, there or in another pod.
func (s *simulation) findPlaces(p int, gone []departure, taken *placement.Place) ([]claim, bool) {
	trials := map[int]*placement.Pod{}
	trial := func(q int) *placement.Pod {
		if trials[q] == nil {
			copied := *s.pods[q].Pod
			trials[q] = &copied
		}
		return trials[q]
	}

	s.removeJobs(trial(p), gone)
	s.setUsed(trial(p), taken, true)
	var moves []claim
	for _, l := range gone {
		x := s.slots[l.slot]
		found := false
		for i := range s.pods {
			q := (p + i) % len(s.pods)
			if s.allowedSlowdown(x, q) != 1 {
				continue
			}
			at, ok := s.policy.Place(trial(q), x.Shape)
			if ok && (q != p || !overlaps(&at, &x.place)) {
				s.setUsed(trial(q), &at, true)
				moves = append(moves, claim{x, q, at})
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
