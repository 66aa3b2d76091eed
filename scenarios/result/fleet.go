package result

import "slices"

// Fleet is the stored part of a fleet's simulation with one placement.
type Fleet struct {
	// Cubes covers the time from FromS to UntilS, in seconds.
	FromS       float64      `json:"from_s"`
	UntilS      float64      `json:"until_s"`
	Cubes       []Track      `json:"cubes"` // jobs on each cube of the first pod, with number, shape and outcome
	FreeSamples []FreeSample `json:"looks"` // free cubes of the first pod over time, sorted by time
	// Events are failures and repairs of hardware of that pod and their effects on jobs,
	// sorted by time.
	Events []FleetEvent `json:"events,omitempty"`
}

// FleetEvent is an event of a part or of a job.
type FleetEvent struct {
	AtS    float64 `json:"at_s"`
	Part   string  `json:"part"` // "machine", "link", "ocs", "job" ...
	Number int     `json:"number"`
	What   string  `json:"what"` // "failed", "repaired" ...
}

// FreeSample is the number of free cubes of a pod at one time, and the number of cubes of
// the largest slice that fits.
type FreeSample struct {
	AtS     float64 `json:"at_s"`
	Free    int     `json:"free"`
	Largest int     `json:"largest"`
}

// Gain is the effect of a change of a scenario on a metric that is a share. Mean is the
// mean over seeds of the difference to the unchanged scenario with the same seed. SE is
// its standard error, 0 for a single seed.
type Gain struct {
	Change   string
	Mean, SE float64
	Failed   string // why it was not simulated
}

// CubesAt returns the tracks of the cubes, reduced to the jobs running at a time in
// seconds.
func (f *Fleet) CubesAt(at float64) []Track {
	cubes := slices.Clone(f.Cubes)
	for i := range cubes {
		cubes[i].Spans = slices.DeleteFunc(slices.Clone(cubes[i].Spans), func(s Span) bool { return at < s.StartS || s.EndS <= at })
	}
	return cubes
}

// WorstFragmentation returns the sample with the largest number of free cubes outside the
// largest slice that fits, and its policy. policy is "" if free cubes always form one
// slice.
func (d *Detail) WorstFragmentation() (policy string, worst FreeSample) {
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			for _, l := range f.FreeSamples {
				if l.Free-l.Largest > worst.Free-worst.Largest {
					policy, worst = d.Policies[i].Policy, l
				}
			}
		}
	}
	return policy, worst
}
