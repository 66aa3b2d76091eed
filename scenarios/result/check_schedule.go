// This file checks stored plans of scale-up domains.

package result

import (
	"fmt"

	"sim/internal/text"
)

// Limits of a plan. They exceed every real plan, and keep sums exact or finite.
const (
	maxGPUs      = 1 << 20
	maxRounds    = 1 << 40 // slots or steps
	maxPlanS     = 1e24    // time of a plan in steps, in seconds
	maxPlanBytes = 1 << 62 // sum of the longest messages of all steps
)

// check fails on inconsistent parts of a plan. A nil plan is valid.
func (s *Schedule) check(owner string) error {
	if s == nil {
		return nil
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the plan of "+owner+" "+format, args...)
	}
	switch {
	case s.GPUs < 1 || s.GPUs > maxGPUs:
		return fail("has %d GPUs, where there can be 1..%d", s.GPUs, maxGPUs)
	case s.SlotS < 0 || s.DelayS < 0:
		return fail("has slots of %g s and reconfigurations of %g s", s.SlotS, s.DelayS)
	case s.LatencyS < 0 || s.RateBitsPerS < 0:
		return fail("has a latency of %g s and links of %g b/s", s.LatencyS, s.RateBitsPerS)
	}
	slots, steps, bytes, end := 0, 0, 0.0, float64(s.Reconfigurations())*s.DelayS
	for i := range s.Phases {
		ph := &s.Phases[i]
		if err := ph.check(s.GPUs, maxRounds-slots); err != nil {
			return fmt.Errorf("phase %d of the plan of %s %w", i, owner, err)
		}
		slots += ph.Slots
		for _, r := range ph.Steps {
			if r.Count < 1 || r.Count > maxRounds-steps {
				return fmt.Errorf("phase %d of the plan of %s has a run of %d steps, where a plan can have 1..%d", i, owner, r.Count, maxRounds)
			}
			steps += r.Count
			bytes += float64(r.Count) * float64(r.Bytes)
			end += float64(r.Count) * r.StepS
			if r.Bytes < 0 || bytes > maxPlanBytes || !(r.StepS >= 0) {
				return fmt.Errorf("phase %d of the plan of %s has steps of %d B and %g s", i, owner, r.Bytes, r.StepS)
			}
		}
	}
	if steps > 0 && !(end <= maxPlanS) {
		return fail("takes longer than %g s", maxPlanS)
	}
	return nil
}

// check fails on inconsistent parts of a phase. maxSlots is the number of slots that the
// plan may still have.
func (ph *SchedulePhase) check(gpus, maxSlots int) error {
	inside := func(g int) bool { return g >= 0 && g < gpus }
	switch {
	case ph.Slots < 0 || ph.Slots > maxSlots:
		return fmt.Errorf("has %d slots, where a plan can have 0..%d", ph.Slots, maxRounds)
	case len(ph.Busy) != 0 && len(ph.Busy) != ph.Slots:
		return fmt.Errorf("says of %d slots how busy they are, of %d", len(ph.Busy), ph.Slots)
	case ph.Links < 0:
		return fmt.Errorf("has %d links", ph.Links)
	}
	for _, o := range ph.Offsets {
		if !inside(o) {
			return fmt.Errorf("has an offset of %d among %d GPUs", o, gpus)
		}
	}

	// links is the number of links between two GPUs, used the number of transmissions on them in
	// the current slot. Transmissions are sorted by slot.
	links, used := map[[2]int]int{}, map[[2]int]int{}
	for _, e := range ph.Edges {
		if !inside(e[0]) || !inside(e[1]) {
			return fmt.Errorf("joins GPUs %d and %d of %d", e[0], e[1], gpus)
		}
		links[e]++
	}
	for _, b := range ph.Busy {
		if b < 0 || b > len(ph.Edges) {
			return fmt.Errorf("has %d busy links of %d", b, len(ph.Edges))
		}
	}
	previousSlot := 0
	for j, t := range ph.Sent {
		slot, from, to, src, dst := t[0], t[1], t[2], t[3], t[4] // t[5] is the chunk
		switch {
		case slot < previousSlot || slot >= ph.Slots:
			return fmt.Errorf("has transmission %d, which is in slot %d of %d, or before the one listed before it", j, slot, ph.Slots)
		case slot > previousSlot:
			clear(used)
		}
		previousSlot = slot
		link := [2]int{from, to}
		used[link]++
		switch {
		case !inside(from) || !inside(to) || !inside(src) || !inside(dst):
			return fmt.Errorf("has transmission %d, which names a GPU beyond the %d that there are", j, gpus)
		case used[link] > links[link]:
			return fmt.Errorf("has transmission %d, which is one too many in slot %d on the %s from GPU %d to GPU %d", j, slot, text.Plural(links[link], "link"), from, to)
		}
	}
	return nil
}
