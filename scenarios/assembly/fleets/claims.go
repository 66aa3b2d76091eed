package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
)

// claim keeps a place for a job until those who have it have left.
type claim struct {
	job   *fleetJob
	pod   int
	place placement.Place
}

// addClaim keeps a place, of which what jobs leave now is theirs until they have.
func (s *simulation) addClaim(j *fleetJob, pod int, at placement.Place) *claim {
	c := &claim{j, pod, at}
	s.claims = append(s.claims, c)
	s.setHeld(c, true)
	return c
}

// setHeld keeps the chips of a claim, or no longer.
func (s *simulation) setHeld(c *claim, on bool) {
	chips := chipsOf(&c.place)
	for _, cube := range c.place.Cubes {
		s.changeCube(c.pod, int(cube), func(x *placement.Cube) {
			if on {
				x.Held |= chips
			} else {
				x.Held &^= chips
			}
		})
	}
}

// resolveClaims starts the jobs whose places are free now, and queues those whose places have come to harm.
func (s *simulation) resolveClaims() error {
	for i := 0; i < len(s.claims); {
		c := s.claims[i]
		ready, lost := c.job.phase == phaseClaimed, false
		for _, cube := range c.place.Cubes {
			x, chips := &s.pods[c.pod].Cubes[cube], chipsOf(&c.place)
			lost = lost || x.Closed > 0 || x.Down&chips != 0 ||
				c.place.Chips == 0 && x.Unlinked > 0
			ready = ready && x.Used&chips == 0
		}
		slow := s.allowedSlowdown(c.job, c.pod)
		if lost = lost || slow == 0; !ready && !lost {
			i++
			continue
		}
		s.claims = slices.Delete(s.claims, i, i+1)
		s.setHeld(c, false)
		c.job.claim = nil
		switch {
		case !lost:
			if err := s.startJob(c.job, c.pod, c.place, slow); err != nil {
				return err
			}
		case c.job.phase == phaseClaimed:
			c.job.phase = phaseQueued
			s.queue.add(c.job)
		}
	}

	return nil
}

// podWithout returns a pod as it would be if these jobs left, until it is asked again.
func (s *simulation) podWithout(p int, jobs []departure) *placement.Pod {
	s.trialPod = *s.pods[p].Pod
	s.removeJobs(&s.trialPod, jobs)
	return &s.trialPod
}

// removeJobs takes jobs off a copy of their pod.
func (s *simulation) removeJobs(p *placement.Pod, jobs []departure) {
	for _, l := range jobs {
		s.setUsed(p, &s.slots[l.slot].place, false)
	}
}

// setUsed has a place taken in a copy of a pod, or not.
func (s *simulation) setUsed(p *placement.Pod, at *placement.Place, on bool) {
	for _, c := range at.Cubes {
		if on {
			p.Cubes[c].Used |= chipsOf(at)
		} else {
			p.Cubes[c].Used &^= chipsOf(at)
		}
	}
}

// overlaps reports whether two places of a pod have chips in common.
func overlaps(a, b *placement.Place) bool {
	for _, c := range a.Cubes {
		if slices.Contains(b.Cubes, c) && chipsOf(a)&chipsOf(b) != 0 {
			return true
		}
	}
	return false
}

// idleChips returns the chips of a pod that are up and without a job, of cubes in service.
func idleChips(p *placement.Pod) int {
	n := 0
	for i := range p.Cubes {
		if c := &p.Cubes[i]; c.Closed == 0 && c.Unlinked == 0 {
			n += bits.OnesCount64(^(c.Used | c.Down | c.Held))
		}
	}
	return n
}
