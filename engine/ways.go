package engine

import "fmt"

// Flow is traffic from one node to another.
type Flow struct{ Src, Dst int32 }

// Table leads traffic by the node it is at and the one it is for.
type Table struct {
	Degree int     // most links out of a node
	Link   []int32 // by node and port: a link out of it; -1 where there is none
	Port   []uint8 // by node and destination; NoPort where that cannot be reached
}

// NoPort stands in a Table for a destination that cannot be reached.
const NoPort = 255

// Next returns the link that leads from a node, one of nodes, towards another;
// -1 where none does.
func (t *Table) Next(nodes int, at, dst int32) int32 {
	port := t.Port[int(at)*nodes+int(dst)]
	if int(port) >= t.Degree {
		return -1
	}
	return t.Link[int(at)*t.Degree+int(port)]
}

// Check fails where t does not lead every flow to its destination over links of n
// that are up.
func (t *Table) Check(n *Network, flows []Flow) error {
	nodes := int(n.Nodes)
	if t.Degree < 1 || t.Degree > NoPort || len(t.Link) != nodes*t.Degree || len(t.Port) != nodes*nodes {
		return fmt.Errorf("engine: a table of %d ports and %d entries for %d nodes", len(t.Link), len(t.Port), nodes)
	}
	for i, l := range t.Link {
		if l < -1 || int(l) >= len(n.Links) || l >= 0 && int(n.Links[l].From) != i/t.Degree {
			return fmt.Errorf("engine: port %d of node %d is no link out of it", i%t.Degree, i/t.Degree)
		}
	}
	from := make(map[int32][]int32)
	var order []int32
	for i, f := range flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= n.Nodes || f.Dst >= n.Nodes {
			return fmt.Errorf("engine: flow %d from node %d to %d of %d nodes", i, f.Src, f.Dst, nodes)
		}
		if from[f.Dst] == nil {
			order = append(order, f.Dst)
		}
		from[f.Dst] = append(from[f.Dst], f.Src)
	}
	arrives := make([]bool, nodes) // so that no entry is followed twice
	for _, dst := range order {
		clear(arrives)
		arrives[dst] = true
		for _, src := range from[dst] {
			at := src
			for hops := 0; !arrives[at]; hops++ {
				l := t.Next(nodes, at, dst)
				if l < 0 || n.Links[l].Rate == 0 || hops >= nodes {
					return fmt.Errorf("engine: traffic from node %d to %d does not get beyond %d", src, dst, at)
				}
				at = n.Links[l].To
			}
			for at := src; !arrives[at]; at = n.Links[t.Next(nodes, at, dst)].To {
				arrives[at] = true
			}
		}
	}
	return nil
}
