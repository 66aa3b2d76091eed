package result

// Schedule is the plan of a collective on a scale-up domain, for pictures.
type Schedule struct {
	Origin string          `json:"origin"` // which construction
	GPUs   int             `json:"gpus"`
	Degree int             `json:"degree"`  // links out of and into a GPU
	SlotS  float64         `json:"slot_s"`  // time of a chunk on a link
	DelayS float64         `json:"delay_s"` // of a reconfiguration
	Phases []SchedulePhase `json:"phases"`
	// Intervals: switches reconfigure on their own, phases are intervals in which none changes, and slots in which some are
	// dark count.
	Intervals bool `json:"intervals,omitempty"`
}

// SchedulePhase is what happens between two reconfigurations.
type SchedulePhase struct {
	Edges [][2]int `json:"edges"` // from, to; a double one has two links
	Slots int      `json:"slots"`
	Busy  []int    `json:"busy"` // by slot: links that carry a chunk
	// Sent is the transmissions in order of slots: slot, from, to, source, destination, chunk. Empty where there are too
	// many to draw.
	Sent [][6]int `json:"sent,omitempty"`
}
