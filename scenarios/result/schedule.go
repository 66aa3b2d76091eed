package result

// Schedule is the plan of a collective on a scale-up domain, for pictures. Plans of whole chunks go in slots that are
// all of SlotS; those of other collectives in Steps whose messages have lengths of their own, each LatencyS and its
// bytes at RateBitsPerS.
type Schedule struct {
	Origin string          `json:"origin"` // which construction
	GPUs   int             `json:"gpus"`
	Degree int             `json:"degree"`  // links out of and into a GPU
	SlotS  float64         `json:"slot_s"`  // time of a chunk on a link
	DelayS float64         `json:"delay_s"` // of a reconfiguration
	Phases []SchedulePhase `json:"phases"`
	// Intervals: switches reconfigure on their own, phases are intervals in which none changes, and slots in which some
	// are dark count.
	Intervals bool `json:"intervals,omitempty"`

	LatencyS     float64 `json:"latency_s,omitempty"` // of a step, besides its bytes
	RateBitsPerS float64 `json:"rate_bits_per_s,omitempty"`
}

// SchedulePhase is what happens between two reconfigurations; of a plan in steps, one kind of
// operation on the data.
type SchedulePhase struct {
	Edges [][2]int `json:"edges"` // from, to; a double one has two links
	Slots int      `json:"slots"`
	Busy  []int    `json:"busy"` // by slot: links that carry a chunk
	// Sent is the transmissions in order of slots: slot, from, to, source, destination, chunk. Empty where there are
	// too many to draw.
	Sent [][6]int `json:"sent,omitempty"`

	// Kind is what a phase of steps does: "scatter", "exchange", "gather" or "fold". "" of a phase of slots.
	Kind string `json:"kind,omitempty"`
	// Reused: the topology is that of the phase before, at no reconfiguration; Edges is then empty.
	Reused bool `json:"reused,omitempty"`
	// Offsets make the topology a circulant: links lead from GPU u to u+Offsets[i] mod GPUs. nil of others.
	Offsets []int `json:"offsets,omitempty"`
	// Links is how many the topology has, where Edges is empty because they are too many to draw.
	Links int           `json:"links,omitempty"`
	Steps []ScheduleRun `json:"steps,omitempty"` // in order of time
}

// ScheduleRun is steps in a row whose longest messages are identical.
type ScheduleRun struct {
	Count int     `json:"count"`
	Bytes int64   `json:"bytes"`  // of the longest message of a step
	StepS float64 `json:"step_s"` // time of a step: latency and bytes at the rate
}

// InSteps reports whether the plan goes in steps and not in slots.
func (s *Schedule) InSteps() bool {
	for i := range s.Phases {
		if len(s.Phases[i].Steps) > 0 {
			return true
		}
	}
	return false
}

// Reconfigurations counts the topologies that are set up, the first included.
func (s *Schedule) Reconfigurations() int {
	d := 0
	for i := range s.Phases {
		if !s.Phases[i].Reused {
			d++
		}
	}
	return d
}

// Totals sums the steps of a phase: how many, the bytes of their longest messages, and their time in seconds.
func (p *SchedulePhase) Totals() (steps int, bytes int64, timeS float64) {
	for _, r := range p.Steps {
		steps += r.Count
		bytes += int64(r.Count) * r.Bytes
		timeS += float64(r.Count) * r.StepS
	}
	return steps, bytes, timeS
}
