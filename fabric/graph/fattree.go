package graph

import "fmt"

// FatTree is a folded Clos network of switches with equal numbers of ports (Leiserson,
// "Fat-trees", 1985; with three levels: Al-Fares, Loukissas and Vahdat, "A scalable, commodity
// data center network architecture", SIGCOMM 2008).
type FatTree struct {
	Ports            int `key:"switch_ports" doc:"ports per switch, an even number for three levels" default:"4" min:"2" max:"1024" source:""`
	Levels           int `key:"levels" doc:"levels of switches: 2 (leaves and spines) or 3 (with pods between)" default:"3" min:"2" max:"3" source:""`
	Oversubscription int `key:"oversubscription" doc:"ratio of hosts to uplinks of a leaf; 1 means non-blocking. Ports that the ratio cannot use stay free" default:"1" min:"1" max:"1023" source:""`
}

// Shape returns the hosts in order of their leaves, then the leaves, the switches above them in
// order of their pods, and the cores. A leaf has as many hosts and links upwards as its ports
// allow at the oversubscription ratio.
func (f FatTree) Shape(wanted int) (*Shape, error) {
	up := f.Ports / (f.Oversubscription + 1) // links of a leaf to the switches above it
	switch {
	case f.Levels == 3 && f.Ports%2 != 0:
		return nil, fmt.Errorf("a fat tree of three levels of switches of %d ports, half of which lead up; want an even number",
			f.Ports)
	case up < 1:
		return nil, fmt.Errorf("a fat tree of switches of %d ports: a leaf has no port for a link upwards beside %d hosts; want at least %d ports",
			f.Ports, f.Oversubscription, f.Oversubscription+1)
	}
	down := up * f.Oversubscription
	pods, leaves := 1, f.Ports // numbers of pods, and of leaves per pod
	if f.Levels == 3 {
		pods, leaves = f.Ports, f.Ports/2
	}
	hosts := pods * leaves * down
	pairs := hosts + pods*leaves*up
	if f.Levels == 3 {
		pairs += pods * up * (f.Ports / 2)
	}
	s, err := newShape("a fat tree", hosts, wanted, pairs)
	if err != nil {
		return nil, err
	}

	for h := range hosts {
		s.addPair(h, hosts+h/down, defaultRate)
	}

	// Each leaf has a link to each of the switches above it in its pod.
	above := hosts + pods*leaves // the first switch above the leaves
	for leaf := range pods * leaves {
		firstAbove := above + leaf/leaves*up
		for k := range up {
			s.addPair(hosts+leaf, firstAbove+k, defaultRate)
		}
	}

	// The switches at the same position in all pods share a set of cores.
	if f.Levels == 3 {
		cores := above + pods*up
		for k := range pods * up {
			firstCore := cores + k%up*(f.Ports/2)
			for c := range f.Ports / 2 {
				s.addPair(above+k, firstCore+c, defaultRate)
			}
		}
	}
	return s, nil
}
