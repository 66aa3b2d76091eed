package result

import "slices"

// Fleet is what is kept of a fleet's simulation under a placement.
type Fleet struct {
	// Cubes shows what is between these.
	FromS       float64      `json:"from_s"`
	UntilS      float64      `json:"until_s"`
	Cubes       []Track      `json:"cubes"` // of the first pod: which jobs are on each, by number, shape and how they left
	FreeSamples []FreeSample `json:"looks"` // at what is free there, in order
	// Events are what happens to hardware there, and what it does to jobs, in order.
	Events []FleetEvent `json:"events,omitempty"`
}

// FleetEvent is something that happens to a part, or to a job.
type FleetEvent struct {
	AtS    float64 `json:"at_s"`
	Part   string  `json:"part"` // "machine", "link", "ocs", "job" ...
	Number int     `json:"number"`
	What   string  `json:"what"` // "failed", "repaired" ...
}

// FreeSample is how many cubes of a pod are free at a moment, and how many the largest slice has that fits.
type FreeSample struct {
	AtS     float64 `json:"at_s"`
	Free    int     `json:"free"`
	Largest int     `json:"largest"`
}

// Gain is what a change of a scenario gives, of a metric that is a share: the mean over seeds, each against the same
// seed without it, and the standard error of that mean, 0 of one seed.
type Gain struct {
	Change   string
	Mean, SE float64
	Failed   string // why it was not simulated
}

// CubesAt returns the tracks of the cubes with what is on them at a moment alone.
func (f *Fleet) CubesAt(at float64) []Track {
	cubes := slices.Clone(f.Cubes)
	for i := range cubes {
		cubes[i].Spans = slices.DeleteFunc(slices.Clone(cubes[i].Spans), func(s Span) bool { return at < s.StartS || s.EndS <= at })
	}
	return cubes
}

// WorstFragmentation returns the policy and the look at which most free cubes are outside the largest slice that fits; "" if
// free cubes always fit one slice.
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
