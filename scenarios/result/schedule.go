// This file declares what detail.json holds of the plan of a collective on a scale-up domain:
// GPUs that are joined by circuits, which a plan reconfigures during the collective.

package result

// Schedule is the plan of a collective on a scale-up domain, for figures. There are two kinds
// of plans. In a plan of slots, circuits carry equal chunks of data, and a slot is the time
// of one chunk, SlotS. In a plan of steps, message sizes differ from step to step, and a
// step takes LatencyS plus its bytes at RateBitsPerS.
type Schedule struct {
	Origin string          `json:"origin"`  // name of the construction
	GPUs   int             `json:"gpus"`    // number of GPUs
	Degree int             `json:"degree"`  // number of links that leave a GPU; the same number leads to it
	SlotS  float64         `json:"slot_s"`  // time of a chunk on a link
	DelayS float64         `json:"delay_s"` // reconfiguration delay
	Phases []SchedulePhase `json:"phases"`
	// Intervals reports whether switches reconfigure independently. Phases are then
	// intervals without a reconfiguration, and slots in which some switches are down
	// count.
	Intervals bool `json:"intervals,omitempty"`

	LatencyS     float64 `json:"latency_s,omitempty"` // latency of a step, in addition to its bytes
	RateBitsPerS float64 `json:"rate_bits_per_s,omitempty"`
}

// SchedulePhase is the time between two reconfigurations. In a plan of steps, a phase has one
// kind of operation on the data.
type SchedulePhase struct {
	Edges [][2]int `json:"edges"` // pairs (from, to); a double link is listed twice
	Slots int      `json:"slots"` // number of slots
	Busy  []int    `json:"busy"`  // links that carry a chunk, indexed by slot
	// Sent lists the transmissions by slot: slot, from, to, source, destination, chunk.
	// It is empty if they are too many to draw.
	Sent [][6]int `json:"sent,omitempty"`

	// Kind is the operation of a phase of steps: "scatter", "exchange", "gather" or
	// "fold". "" for slots.
	Kind string `json:"kind,omitempty"`
	// Reused reports that the phase keeps the previous topology without a
	// reconfiguration. Edges is then empty.
	Reused bool `json:"reused,omitempty"`
	// Offsets describe a circulant: links lead from GPU u to u+Offsets[i] mod GPUs. nil
	// for other topologies.
	Offsets []int `json:"offsets,omitempty"`
	// Links is the number of links if Edges is empty because they are too many to draw.
	Links int           `json:"links,omitempty"`
	Steps []ScheduleRun `json:"steps,omitempty"` // in order of time
}

// ScheduleRun stands for consecutive steps whose longest messages have the same size.
type ScheduleRun struct {
	Count int     `json:"count"`  // number of steps
	Bytes int64   `json:"bytes"`  // bytes of the longest message of a step
	StepS float64 `json:"step_s"` // time of a step: latency plus bytes at the rate
}

// InSteps reports whether the plan consists of steps instead of slots.
func (s *Schedule) InSteps() bool {
	for i := range s.Phases {
		if len(s.Phases[i].Steps) > 0 {
			return true
		}
	}
	return false
}

// Reconfigurations returns the number of topologies that are set up, including the first.
func (s *Schedule) Reconfigurations() int {
	n := 0
	for i := range s.Phases {
		if !s.Phases[i].Reused {
			n++
		}
	}
	return n
}

// Totals returns the number of steps of a phase, the sum of the bytes of their longest
// messages, and their time in seconds.
func (p *SchedulePhase) Totals() (steps int, bytes int64, timeS float64) {
	for _, r := range p.Steps {
		steps += r.Count
		bytes += int64(r.Count) * r.Bytes
		timeS += float64(r.Count) * r.StepS
	}
	return steps, bytes, timeS
}
