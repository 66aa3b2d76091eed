package fleets

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// leaver is a job that may leave its place, and the chip-milliseconds that this takes.
type leaver struct {
	slot int32
	cost int64
}

// makeRoom has others leave a place for a job that fits nowhere: moves them elsewhere, or preempts those of lower bands.
// It reports whether a place is kept for it then.
func (s *state) makeRoom(j *job, pods []int) bool {
	if s.c.Defragment {
		for _, p := range pods {
			if s.allowed(j, p) > 0 && s.defragment(j, p) {
				return true
			}
		}
	}
	if s.c.Preemption {
		for _, p := range pods {
			if s.allowed(j, p) > 0 && s.preempt(j, p) {
				return true
			}
		}
	}
	return false
}

// leavers lists the jobs of a pod that run and that ok takes, the cheapest first, until it is asked again.
func (s *state) leavers(p int, cost func(j *job) fleet.Time, ok func(j *job) bool) []leaver {
	list := s.may[:0]
	for c := range s.pods[p].on {
		for _, slot := range s.pods[p].on[c] {
			if j := s.slots[slot]; j.phase == running && int(j.at.Cubes[0]) == c && ok(j) {
				list = append(list, leaver{slot, int64(j.Shape.Chips()) * int64(cost(j))})
			}
		}
	}
	s.may = list
	slices.SortFunc(list, func(a, b leaver) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.slot, b.slot)) })
	return list
}

// settled reports whether a job has not been preempted or moved for a time.
func (s *state) settled(j *job, since fleet.Time) bool { return j.moved == 0 || s.now-j.moved >= since }

// clearing finds a place for a job in a pod that becomes free when few and cheap ones of the jobs that may leave do: the
// least number of the cheapest with whom it fits, less those without whom it does.
func (s *state) clearing(j *job, p int, may []leaver) (placement.Place, []leaver, bool) {
	if n := j.Shape.Cubes(); len(may) == 0 || n > 0 && bits.OnesCount64(s.podWithout(p, may).Free()) < n {
		return placement.Place{}, nil, false
	}
	fits := func(gone []leaver) (placement.Place, bool) {
		trial := s.podWithout(p, gone)
		at, ok := s.policy.Place(trial, j.Shape)
		return at, ok && (j.strange || !s.spares(trial, &at))
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
	gone = slices.DeleteFunc(gone, func(l leaver) bool { return !meets(&s.slots[l.slot].at, &at) })
	return at, gone, ok
}

// preempt has jobs of lower bands leave a place in a pod for a job: those that lose least, each once in a while at most
// (Verma et al., "Large-scale cluster management at Google with Borg", EuroSys 15, Sec. 2.5).
func (s *state) preempt(j *job, p int) bool {
	t := &s.c.Times
	saves := t.Notice >= t.Checkpoint
	may := s.leavers(p, func(x *job) fleet.Time {
		if saves {
			return t.Checkpoint + s.setup(x)
		}
		return s.unsaved(x) + s.setup(x)
	}, func(x *job) bool { return x.Band > j.Band && s.settled(x, s.c.Spared) })
	at, gone, ok := s.clearing(j, p, may)
	if !ok {
		return false
	}
	for _, l := range gone {
		x := s.slots[l.slot]
		x.moved = s.now
		s.count(&s.tally.Preemptions)
		if saves {
			s.leave(l.slot, nil)
		} else {
			s.requeue(l.slot, true)
		}
	}
	s.keep(j, p, at)
	return true
}

// keep keeps a place for a job from the queue.
func (s *state) keep(j *job, p int, at placement.Place) {
	j.phase = placed
	j.to = s.claim(j, p, at)
}

// atMost is how often a job is moved for others at most.
const atMost = fleet.Hour

// defragment moves running jobs so that one fits which does not: jobs below a cube into fewer cubes, others into other
// boxes of a grid or to another pod (Sec. 3.3 of the paper). It does where that takes fewer chip-seconds than the job
// would wait, by users' estimates, times its chips.
func (s *state) defragment(j *job, p int) bool {
	if n := j.Shape.Chips(); len(s.pods) == 1 && (s.acc.chips[Idle] < int64(n) || idleChips(s.pods[p].Pod) < n) {
		return false
	}
	may := s.leavers(p, func(x *job) fleet.Time { return s.c.Times.Checkpoint + s.setup(x) }, func(x *job) bool {
		return x.Shape.Chips() < j.Shape.Chips() && s.settled(x, atMost)
	})
	at, gone, ok := s.clearing(j, p, may)
	if !ok {
		return false
	}
	cost := int64(0)
	for _, l := range gone {
		cost += l.cost
	}
	slices.SortStableFunc(gone, func(a, b leaver) int { return s.slots[b.slot].Shape.Chips() - s.slots[a.slot].Shape.Chips() })
	moves, ok := s.elsewhere(p, gone, &at)
	if !ok || cost >= int64(j.Shape.Chips())*int64(s.reserve(j).at-s.now) {
		return false
	}
	for i, l := range gone {
		x := s.slots[l.slot]
		x.moved = s.now
		s.count(&s.tally.Migrations)
		s.leave(l.slot, s.claim(x, moves[i].pod, moves[i].at))
	}
	s.keep(j, p, at)
	return true
}

// elsewhere finds places for the jobs of a pod that are to leave one, there or in another pod.
func (s *state) elsewhere(p int, gone []leaver, taken *placement.Place) ([]claim, bool) {
	trials := map[int]*placement.Pod{}
	trial := func(q int) *placement.Pod {
		if trials[q] == nil {
			copied := *s.pods[q].Pod
			trials[q] = &copied
		}
		return trials[q]
	}
	s.without(trial(p), gone)
	s.mark(trial(p), taken, true)
	var moves []claim
	for _, l := range gone {
		x := s.slots[l.slot]
		found := false
		for i := range s.pods {
			q := (p + i) % len(s.pods)
			if s.allowed(x, q) != 1 {
				continue
			}
			at, ok := s.policy.Place(trial(q), x.Shape)
			if ok && (q != p || !meets(&at, &x.at)) {
				s.mark(trial(q), &at, true)
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
