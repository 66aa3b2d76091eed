// This file reserves places for jobs, and tries placements on copies of pods. A place is the
// set of chips that a job uses: whole cubes, or chips of one cube.

package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
)

// claim reserves a place for a job while other jobs still leave it. The chips of the place
// are marked as held (placement.Cube.Held), so no other job gets them when they become free.
type claim struct {
	job   *fleetJob
	pod   int // index of the pod
	place placement.Place
}

// addClaim reserves a place for a job. Other jobs may still use chips of the place until
// they have left.
func (s *simulation) addClaim(j *fleetJob, pod int, place placement.Place) *claim {
	c := &claim{job: j, pod: pod, place: place}
	s.claims = append(s.claims, c)
	chips := s.pods[pod].Chips(&place)
	for _, cube := range place.Cubes {
		s.changeCube(pod, int(cube), func(x *placement.Cube) { x.Held |= chips })
	}
	return c
}

// releaseChips makes the chips of a claim available to other jobs.
func (s *simulation) releaseChips(c *claim) {
	chips := s.pods[c.pod].Chips(&c.place)
	for _, cube := range c.place.Cubes {
		s.changeCube(c.pod, int(cube), func(x *placement.Cube) { x.Held &^= chips })
	}
}

// resolveClaims starts the jobs whose places have become free. It returns jobs to
// the queue whose places have become unusable.
func (s *simulation) resolveClaims() error {
	for i := 0; i < len(s.claims); {
		c := s.claims[i]
		chips := s.pods[c.pod].Chips(&c.place)

		// The place is ready if the job waits for it and no job uses it any more. It is lost
		// if a part of it fails or is closed for maintenance. Only slices of whole cubes
		// need the optical links of cubes.
		isReady, isLost := c.job.phase == phaseClaimed, false
		for _, cube := range c.place.Cubes {
			x := &s.pods[c.pod].Cubes[cube]
			needsLinks := c.place.Chips == 0 // whole cubes
			if x.Closed > 0 || x.Down&chips != 0 || needsLinks && x.Unlinked > 0 {
				isLost = true
			}
			if x.Used&chips != 0 {
				isReady = false
			}
		}

		// The place is lost, too, if too many switches of the pod are down.
		slowdown := s.allowedSlowdown(c.job, c.pod)
		if slowdown == 0 {
			isLost = true
		}
		if !isReady && !isLost {
			i++
			continue
		}

		s.claims = slices.Delete(s.claims, i, i+1)
		s.releaseChips(c)
		c.job.claim = nil

		// A job whose place is lost returns to the queue. If it is still writing a
		// checkpoint, it returns at the end of the checkpoint instead.
		switch {
		case !isLost:
			if err := s.startJob(c.job, c.pod, c.place, slowdown); err != nil {
				return err
			}
		case c.job.phase == phaseClaimed:
			c.job.phase = phaseQueued
			s.queue.add(c.job)
		}
	}

	return nil
}

// noJobs is the argument of podWithout for a copy with all jobs.
var noJobs []departure

// podWithout returns a copy of pod p without the given jobs. The copy uses scratch memory
// of the simulation (trialPod) and is valid until the next call.
func (s *simulation) podWithout(p int, jobs []departure) *placement.Pod {
	s.trialPod.CopyCubes(s.pods[p].Pod)
	s.removeJobs(&s.trialPod, jobs)
	return &s.trialPod
}

// removeJobs removes jobs from a copy of their pod.
func (s *simulation) removeJobs(p *placement.Pod, jobs []departure) {
	for _, d := range jobs {
		markFree(p, &s.slots[d.slot].place)
	}
}

// markUsed marks the chips of a place in a copy of a pod as used.
func markUsed(p *placement.Pod, place *placement.Place) {
	for _, c := range place.Cubes {
		p.Cubes[c].Used |= p.Chips(place)
	}
}

// markFree marks the chips of a place in a copy of a pod as free.
func markFree(p *placement.Pod, place *placement.Place) {
	for _, c := range place.Cubes {
		p.Cubes[c].Used &^= p.Chips(place)
	}
}

// overlaps reports whether two places of a pod have a chip in common.
func overlaps(p *placement.Pod, a, b *placement.Place) bool {
	for _, c := range a.Cubes {
		if slices.Contains(b.Cubes, c) && p.Chips(a)&p.Chips(b) != 0 {
			return true
		}
	}
	return false
}

// idleChips returns the number of chips of a pod that are available to jobs.
func idleChips(p *placement.Pod) int {
	n, wholeCube := 0, p.Chips(&placement.Place{})
	for i := range p.Cubes {
		if c := &p.Cubes[i]; c.Closed == 0 && c.Unlinked == 0 {
			n += bits.OnesCount64(wholeCube &^ (c.Used | c.Down | c.Held))
		}
	}
	return n
}
