package fleets

import (
	"math"
	"math/bits"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// availability measures what pods could give, whatever jobs are on them: a slice of so many cubes, if they were empty.
type availability struct {
	cubes            int
	shape            fleet.Shape   // of the slice
	fixedCubes       uint64        // the cubes of the slice, if it can only be on these
	current          []podCapacity // what each can, at the moment
	switchesSeen     []int         // switches that were down then
	isStale          bool          // some cube went down or came back since
	sums             podCapacity   // over pods, times milliseconds
	nextSample       fleet.Time    // when the free cubes are looked at again
	boxes            []fleet.Shape // the slices that a grid may have room for, the largest first
	starts           int           // of jobs, each time that one is placed
	samples          int           // that found a free cube
	fragmentationSum float64       // sum of what they found
}

// podCapacity is what pods could give, of each.
type podCapacity struct {
	slice   float64 // one slice
	fixed   float64 // one that can only be in one place
	goodput float64 // share of the chips that are in as many slices as there are cubes for
}

// newAvailability watches slices of so many cubes; 0 watches what is free alone.
func newAvailability(c *Config, policy placement.Policy) *availability {
	w := &availability{cubes: c.WatchedCubes, nextSample: c.Start, isStale: true}
	if !policy.Rewires() {
		w.boxes = gridBoxes()
	}
	if w.cubes == 0 {
		return w
	}
	w.current, w.switchesSeen = make([]podCapacity, c.Pods), make([]int, c.Pods)
	w.shape = fleet.Shape{Dims: [3]int{fleet.Side, fleet.Side, fleet.Side * w.cubes}}
	for _, b := range w.boxes { // the smallest that holds it
		if b.Cubes() >= w.cubes {
			w.shape = b
		}
	}
	w.fixedCubes = ^uint64(0) >> (fleet.PodCubes - w.cubes)
	return w
}

// sampleInterval is how often what is free is looked at.
const sampleInterval = 6 * fleet.Hour

// gridBoxes lists the boxes of a pod's grid of cubes, the largest first.
func gridBoxes() []fleet.Shape {
	const side = 4
	var list []fleet.Shape
	for n := fleet.PodCubes; n > 0; n-- {
		for a := 1; a <= side; a++ {
			for b := a; b <= side; b++ {
				if c := n / (a * b); c >= b && c <= side && a*b*c == n {
					list = append(list,
						fleet.Shape{Dims: [3]int{a * fleet.Side, b * fleet.Side,
							c * fleet.Side}})
				}
			}
		}
	}
	return list
}

// advance adds up the time since the last event, and looks at what is free every six hours.
func (w *availability) advance(s *simulation, from fleet.Time) {
	for ; w.nextSample <= s.now && w.nextSample < s.config.End; w.nextSample += sampleInterval {
		w.sample(s)
	}
	span := float64(max(0, s.now-max(from, s.config.Start)))
	if w.cubes == 0 || span == 0 {
		return
	}
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

// podCapacity returns what a pod could give.
func (w *availability) podCapacity(s *simulation, p int) podCapacity {
	pod := *s.pods[p].Pod
	for i := range pod.Cubes {
		pod.Cubes[i].Used, pod.Cubes[i].Held = 0, 0
	}
	up := pod.Free()
	var c podCapacity
	if up&w.fixedCubes == w.fixedCubes {
		c.fixed = 1
	}
	if down := s.pods[p].switchesDown(); s.policy.Rewires() &&
		(down > 1 || down == 1 && s.config.OCS == ReactionWait) {
		return c
	}
	if _, ok := s.policy.Place(&pod, w.shape); ok {
		c.slice = 1
	}
	if s.policy.Rewires() {
		c.goodput = float64(bits.OnesCount64(up)/w.cubes*w.cubes) / fleet.PodCubes
	}
	return c
}

// sample measures how far what is free is from one slice: 1 less the largest slice that fits over the cubes that are free.
func (w *availability) sample(s *simulation) {
	for p := range s.pods {
		pod := s.pods[p].Pod
		free := s.pods[p].freeCubes()
		if free == 0 {
			continue
		}
		w.samples++
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

// addMetrics adds what was found to a row, beside what follows from the rates of failures alone, of parts that fail
// independently of each other.
func (w *availability) addMetrics(c *Config, rewires bool, m map[string]float64) {
	m["starts"] = float64(w.starts)
	if w.samples > 0 {
		m["fragmentation"] = w.fragmentationSum / float64(w.samples)
	}
	if w.cubes == 0 {
		return
	}
	span := float64(c.End-c.Start) * float64(c.Pods)
	m["availability"], m["availability_fixed"] = w.sums.slice/span, w.sums.fixed/span
	up := c.Rates.CubeAvailability()
	m["machine_availability"] = (1 - c.Rates[fleet.Machine].Unavailability()) * (1 - c.Rates[fleet.Cube].Unavailability())
	m["expected_availability_fixed"] = math.Pow(up, float64(w.cubes))
	if rewires {
		m["slice_goodput"] = w.sums.goodput / span
	}
	if !rewires || c.Rates[fleet.SwitchWork].PerDay > 0 || c.CampaignStart > 0 { // which comes when no other switch is down
		return
	}
	out := c.Rates[fleet.Switch].Unavailability()
	switches := math.Pow(1-out, fleet.PodSwitches)
	if c.OCS != ReactionWait {
		switches = fleet.BinomialTail(fleet.PodSwitches-1, fleet.PodSwitches, 1-out)
	}
	m["expected_availability"] = switches * fleet.BinomialTail(w.cubes, fleet.PodCubes, up)
	m["expected_slice_goodput"] = switches * fleet.SliceGoodput(w.cubes, fleet.PodCubes, up)
}

// switchesDown returns how many switches of a pod are down.
func (p *podState) switchesDown() int { return p.switchesOut[0] + p.switchesOut[1] + p.switchesOut[2] }
