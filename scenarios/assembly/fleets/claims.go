package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
)

// claim keeps a place for a job until those who have it have left.
type claim struct {
	job *job
	pod int
	at  placement.Place
}

// claim keeps a place, of which what jobs leave now is theirs until they have.
func (s *state) claim(j *job, pod int, at placement.Place) *claim {
	c := &claim{j, pod, at}
	s.claims = append(s.claims, c)
	s.hold(c, true)
	return c
}

// hold keeps the chips of a claim, or no longer.
func (s *state) hold(c *claim, on bool) {
	chips := chipsOf(&c.at)
	for _, cube := range c.at.Cubes {
		s.change(c.pod, int(cube), func(x *placement.Cube) {
			if on {
				x.Held |= chips
			} else {
				x.Held &^= chips
			}
		})
	}
}

// settleClaims starts the jobs whose places are free now, and queues those whose places have come to harm.
func (s *state) settleClaims() error {
	for i := 0; i < len(s.claims); {
		c := s.claims[i]
		ready, lost := c.job.phase == placed, false
		for _, cube := range c.at.Cubes {
			x, chips := &s.pods[c.pod].Cubes[cube], chipsOf(&c.at)
			lost = lost || x.Closed > 0 || x.Down&chips != 0 || c.at.Chips == 0 && x.Unlinked > 0
			ready = ready && x.Used&chips == 0
		}
		slow := s.allowed(c.job, c.pod)
		if lost = lost || slow == 0; !ready && !lost {
			i++
			continue
		}
		s.claims = slices.Delete(s.claims, i, i+1)
		s.hold(c, false)
		c.job.to = nil
		switch {
		case !lost:
			if err := s.start(c.job, c.pod, c.at, slow); err != nil {
				return err
			}
		case c.job.phase == placed:
			c.job.phase = queued
			s.queue.add(c.job)
		}
	}
	return nil
}

// podWithout returns a pod as it would be if these jobs left, until it is asked again.
func (s *state) podWithout(p int, jobs []leaver) *placement.Pod {
	s.trial = *s.pods[p].Pod
	s.without(&s.trial, jobs)
	return &s.trial
}

// without takes jobs off a copy of their pod.
func (s *state) without(p *placement.Pod, jobs []leaver) {
	for _, l := range jobs {
		s.mark(p, &s.slots[l.slot].at, false)
	}
}

// mark has a place taken in a copy of a pod, or not.
func (s *state) mark(p *placement.Pod, at *placement.Place, on bool) {
	for _, c := range at.Cubes {
		if on {
			p.Cubes[c].Used |= chipsOf(at)
		} else {
			p.Cubes[c].Used &^= chipsOf(at)
		}
	}
}

// meets reports whether two places of a pod have chips in common.
func meets(a, b *placement.Place) bool {
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
