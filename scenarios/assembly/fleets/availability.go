// This file measures the availability of a fleet: what its pods could offer to a slice of a
// given size if there were no jobs, and how fragmented the free cubes are.

package fleets

import (
	"math"
	"slices"

	"sim/fabric/torus"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// availability measures two properties of pods. The capacity of a pod without its jobs is
// integrated over time. The fragmentation of the free cubes of a pod is sampled at regular
// times.
type availability struct {
	cubes int         // size of the slice; 0 measures only fragmentation
	shape fleet.Shape // shape of the slice

	current      []podCapacity // capacity of each pod since the last change, indexed by pod
	switchesSeen []int         // number of failed switches at the last change, indexed by pod
	isStale      bool          // a cube failed or recovered since the last change
	sums         podCapacity   // integrals over time, in milliseconds, summed over pods

	nextSample       fleet.Time    // time of the next sample of free cubes
	boxes            []fleet.Shape // shapes of slices without optical switches, the largest first; nil with switches
	starts           int           // placements of jobs
	samples          int           // samples of pods that have a free cube
	fragmentationSum float64       // sum over samples
}

// podCapacity is the capacity of a pod without its jobs, or an integral of capacities.
type podCapacity struct {
	slice   float64 // 1 if the slice fits
	fixed   float64 // 1 if the slice fits at its fixed place
	goodput float64 // share of the pod's chips in the maximum number of disjoint slices that fit
}

// newAvailability returns the measurement for the pods and the placement of a
// simulation.
func newAvailability(c *Config, policy placement.Policy) *availability {
	w := &availability{cubes: c.MeasuredCubes, nextSample: c.Start, isStale: true}
	if !policy.Rewires() {
		w.boxes = gridBoxes(&c.Pod)
	}
	if w.cubes == 0 {
		return w
	}

	w.current, w.switchesSeen = make([]podCapacity, c.Pods), make([]int, c.Pods)

	// With optical switches, any cubes form a slice, and a row of cubes stands for all
	// shapes. Without, the slice is the smallest box with enough cubes: the last such box,
	// since the smallest boxes are at the end.
	cube := c.Pod.Cube
	w.shape = fleet.NewShape(cube, [3]int{cube[0], cube[1], cube[2] * w.cubes})
	for _, b := range w.boxes {
		if b.Cubes() >= w.cubes {
			w.shape = b
		}
	}
	return w
}

// sampleInterval is the time between two samples of the free cubes. In the default 60 days
// this gives more than 200 samples per pod. Each sample tries up to 20 boxes.
const sampleInterval = 6 * fleet.Hour

// gridBoxes returns the shapes of boxes in the grid of a pod's cubes, the largest first.
func gridBoxes(pod *torus.Pod) []fleet.Shape {
	var list []fleet.Shape
	for n := pod.Cubes; n > 0; n-- {
		for _, s := range fleet.SlicesOf(pod.Cube, n) {
			if placement.FitsGrid(pod, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// advance adds the time since the last event to the integrals, and samples the
// free cubes when it is due.
func (w *availability) advance(s *simulation, from fleet.Time) {
	for ; w.nextSample <= s.now && w.nextSample < s.config.End; w.nextSample += sampleInterval {
		w.sample(s)
	}
	span := float64(max(0, s.now-max(from, s.config.Start)))
	if w.cubes == 0 || span == 0 {
		return
	}

	// Capacities change only if a cube or a switch fails or recovers.
	for p := range s.pods {
		if down := s.pods[p].switchesDown(); w.isStale || down != w.switchesSeen[p] {
			w.switchesSeen[p], w.current[p] = down, w.podCapacity(s, p)
		}
		w.sums.slice += span * w.current[p].slice
		w.sums.fixed += span * w.current[p].fixed
		w.sums.goodput += span * w.current[p].goodput
	}

	w.isStale = false
}

// isNotFree reports whether no slice of whole cubes can use a cube.
func isNotFree(c placement.Cube) bool { return !c.IsFree() }

// podCapacity returns the capacity of pod p without its jobs.
func (w *availability) podCapacity(s *simulation, p int) podCapacity {
	pod := s.podWithout(p, noJobs)
	for i := range pod.Cubes {
		pod.Cubes[i].Used, pod.Cubes[i].Held = 0, 0
	}

	up := pod.Free()
	var c podCapacity
	if fixed := pod.Cubes[:w.cubes]; !slices.ContainsFunc(fixed, isNotFree) {
		c.fixed = 1
	}

	// With failed switches, slices need paths around one of them.
	down := s.pods[p].switchesDown()
	blocked := down > 1 || down == 1 && s.config.OCS == ReactionWait
	if s.policy.Rewires() && blocked {
		return c
	}

	if _, ok := s.policy.Place(pod, w.shape); ok {
		c.slice = 1
	}
	if s.policy.Rewires() {
		numSlices := up.Len() / w.cubes
		c.goodput = float64(numSlices*w.cubes) / float64(len(pod.Cubes))
	}
	return c
}

// sample measures the fragmentation of each pod: 1 less the size of the largest
// slice that fits, relative to the free cubes.
func (w *availability) sample(s *simulation) {
	for p := range s.pods {
		pod := s.pods[p].Pod
		free := s.pods[p].freeCubes()
		if free == 0 {
			continue
		}
		w.samples++

		// With optical switches, any free cubes form a slice.
		largest := free
		for _, b := range w.boxes {
			if b.Cubes() > free {
				continue
			}
			if _, ok := s.policy.Place(pod, b); ok {
				largest = b.Cubes()
				break
			}
		}
		w.fragmentationSum += 1 - float64(largest)/float64(free)
		s.recorder.recordFree(s, w.nextSample, p, free, largest)
	}
}

// addMetrics adds the measurements to the metrics m. It also adds the values that
// follow from the failure rates alone if parts fail independently.
func (w *availability) addMetrics(c *Config, rewires bool, m map[string]float64) {
	m["starts"] = float64(w.starts)
	if w.samples > 0 {
		m["fragmentation"] = w.fragmentationSum / float64(w.samples)
	}
	if w.cubes == 0 {
		return
	}

	span := float64(c.End-c.Start) * float64(c.Pods)
	m["availability"] = w.sums.slice / span
	m["availability_fixed"] = w.sums.fixed / span

	// Expected values: all cubes of a fixed slice must be up.
	up := c.Rates.CubeAvailability(&c.Pod)
	machineUp := 1 - c.Rates[fleet.Machine].Unavailability()
	m["machine_availability"] = machineUp * (1 - c.Rates[fleet.Cube].Unavailability())
	m["expected_availability_fixed"] = math.Pow(up, float64(w.cubes))
	if rewires {
		m["slice_goodput"] = w.sums.goodput / span
	}

	// Planned maintenance of a switch waits for the other switches, so it is not
	// independent.
	plansSwitchWork := c.Rates[fleet.SwitchWork].PerDay > 0 || c.CampaignStart > 0
	if !rewires || plansSwitchWork {
		return
	}
	switchUp := 1 - c.Rates[fleet.Switch].Unavailability()
	// Probability that enough switches are up for slices to work: all switches, or all but
	// one if traffic is routed around a failed switch.
	n := c.Pod.Cube.Switches()
	switches := math.Pow(switchUp, float64(n))
	if c.OCS != ReactionWait {
		switches = fleet.BinomialTail(n-1, n, switchUp)
	}

	// With switches, any cubes that are up form a slice.
	m["expected_availability"] = switches * fleet.BinomialTail(w.cubes, c.Pod.Cubes, up)
	m["expected_slice_goodput"] = switches * fleet.SliceGoodput(w.cubes, c.Pod.Cubes, up)
}

// switchesDown returns the number of switches of the pod that are down.
func (p *podState) switchesDown() int {
	return p.switchesOut[0] + p.switchesOut[1] + p.switchesOut[2]
}
