package graph

// RailTopology is servers of several GPUs, of which GPU r of each has its NIC on the switch of rail r, so that most of
// what collectives send crosses one switch (NVIDIA, "Doubling all2all performance with NCCL 2.12"; Wang et al.,
// "Rail-only", 2023). Inside a server its GPUs are joined by a switch of their own.
type RailTopology struct {
	Servers     int `key:"servers" doc:"servers, each with a GPU on every rail" default:"4" min:"1" max:"65536" source:""`
	Rails       int `key:"rails" doc:"GPUs of a server, and switches that join those of one place" default:"8" min:"1" max:"1024" source:""`
	Spines      int `key:"rail_spines" doc:"switches that each join all rails; 0 is rails alone" default:"4" min:"0" max:"1024" source:""`
	ServerTimes int `key:"server_times" doc:"rate of a GPU's link inside its server over that of its NIC" default:"9" min:"1" max:"1024" source:""`
}

// Shape returns GPUs server by server, then the switches of servers, those of rails, and the spines. Each rail has as
// many times a link's rate upwards as it has servers, spread over the spines.
func (r RailTopology) Shape(endpoints int) (*Shape, error) {
	gpus := r.Servers * r.Rails
	s, err := newShape("rails", gpus, endpoints, 2*gpus+r.Rails*r.Spines)
	if err != nil {
		return nil, err
	}
	rails := gpus + r.Servers
	for g := range gpus {
		s.addPair(g, gpus+g/r.Rails, float64(r.ServerTimes))
		s.addPair(g, rails+g%r.Rails, 1)
	}
	for rail := range r.Rails {
		for spine := range r.Spines {
			s.addPair(rails+rail, rails+r.Rails+spine, float64(r.Servers)/float64(r.Spines))
		}
	}
	return s, nil
}
