package graph

// DualPlane has hosts whose NICs have one port on each of several planes. A plane consists of
// its own leaves and spines and shares no switch with the others (Qian et al., "Alibaba HPN: a
// data center network for large language model training", SIGCOMM 2024). A port has the default
// rate.
type DualPlane struct {
	Segments int `key:"segments" doc:"number of segments; the NICs of a segment share a leaf on each plane" default:"4" min:"1" max:"1024" source:""`
	NICs     int `key:"segment_nics" doc:"NICs per segment, each a host" default:"8" min:"1" max:"65536" source:""`
	Spines   int `key:"plane_spines" doc:"switches that join the leaves of a plane" default:"4" min:"1" max:"1024" source:""`
	Planes   int `key:"planes" doc:"number of planes, and of ports per NIC" default:"2" min:"1" max:"64" source:""`
}

// Shape returns the hosts in order of their segments, then the leaves in order of their planes,
// and the spines. The total rate upwards of a leaf equals the total rate of its NICs and is
// spread over the spines of its plane.
func (d DualPlane) Shape(wanted int) (*Shape, error) {
	hosts, leaves := d.Segments*d.NICs, d.Segments*d.Planes
	s, err := newShape("planes", hosts, wanted, hosts*d.Planes+leaves*d.Spines)
	if err != nil {
		return nil, err
	}

	for h := range hosts {
		segment := h / d.NICs
		for p := range d.Planes {
			leaf := p*d.Segments + segment
			s.addPair(h, hosts+leaf, defaultRate)
		}
	}

	uplinkRate := float64(d.NICs) / float64(d.Spines)
	for l := range leaves {
		firstSpine := hosts + leaves + l/d.Segments*d.Spines // of the plane of leaf l
		for k := range d.Spines {
			s.addPair(hosts+l, firstSpine+k, uplinkRate)
		}
	}
	return s, nil
}
