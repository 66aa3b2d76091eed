package graph

// RailTopology is the rail-optimised topology. GPU r of each server has its NIC on the switch of
// rail r, so that most traffic of collectives crosses one switch (NVIDIA, "Doubling all2all
// performance with NCCL 2.12"; Wang et al., "Rail-only", 2023). The GPUs of a server are also
// connected by a switch inside it.
type RailTopology struct {
	Servers     int `key:"servers" doc:"number of servers, each with a GPU on every rail" default:"4" min:"1" max:"65536" source:""`
	Rails       int `key:"rails" doc:"GPUs per server, and number of rail switches" default:"8" min:"1" max:"1024" source:""`
	Spines      int `key:"rail_spines" doc:"number of switches that each join all rails; 0 means separate rails" default:"4" min:"0" max:"1024" source:""`
	ServerTimes int `key:"server_times" doc:"rate of a GPU's link inside its server relative to that of its NIC" default:"9" min:"1" max:"1024" source:""`
}

// Shape returns the GPUs in order of their servers, then the switches of servers, the switches
// of rails, and the spines. The total rate upwards of a rail equals the total rate of its NICs
// and is spread over the spines.
func (r RailTopology) Shape(wanted int) (*Shape, error) {
	gpus := r.Servers * r.Rails
	pairs := 2*gpus + r.Rails*r.Spines // of links
	s, err := newShape("rails", gpus, wanted, pairs)
	if err != nil {
		return nil, err
	}

	// The first switch of servers, of rails, and of spines.
	servers, rails, spines := gpus, gpus+r.Servers, gpus+r.Servers+r.Rails
	for g := range gpus {
		s.addPair(g, servers+g/r.Rails, float64(r.ServerTimes))
		s.addPair(g, rails+g%r.Rails, defaultRate)
	}

	uplinkRate := float64(r.Servers) / float64(r.Spines) // not used without spines
	for rail := range r.Rails {
		for spine := range r.Spines {
			s.addPair(rails+rail, spines+spine, uplinkRate)
		}
	}
	return s, nil
}
