package assembly

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"sim/engine"
	"sim/policies/routing"
)

// Routes are the paths of a policy's flows, for export.
type Routes struct {
	Policy       string
	Network      *engine.Network
	Flows        []engine.Flow
	Paths        *engine.Paths
	ComputePaths func() (*engine.Paths, error) // Paths where these were not needed before; nil where they are there
}

// RouteFiles write the files of a router's routes as CSV.
type RouteFiles struct {
	Tables func(io.Writer) error // forwarding tables of the chips
	Tags   func(io.Writer) error // that packets carry; nil where packets draw their links
}

// Compile makes the forwarding tables of the chips and the tags that packets carry; where packets draw their links
// there are no tags, and the tables have the probability of each link. It fails on paths that come to a node twice,
// which no tables lead.
func (r *Routes) Compile() (RouteFiles, error) {
	if r.ComputePaths != nil {
		var err error
		if r.Paths, err = r.ComputePaths(); err != nil {
			return RouteFiles{}, fmt.Errorf("%s: %w", r.Policy, err)
		}
	}
	if r.Paths.Spread != nil {
		return RouteFiles{Tables: r.writeSpread}, nil
	}
	t, err := routing.Compile(r.Network, r.Flows, r.Paths)
	if err != nil {
		return RouteFiles{}, fmt.Errorf("%s: %w", r.Policy, err)
	}
	return RouteFiles{Tables: t.WriteCSV, Tags: t.WriteTags}, nil
}

// writeSpread writes the links that packets draw from.
func (r *Routes) writeSpread(w io.Writer) error {
	sources := make([][]int32, r.Network.Nodes)
	for _, f := range r.Flows {
		sources[f.Dst] = append(sources[f.Dst], f.Src)
	}
	spread, visited := r.Paths.Spread, make([]bool, r.Network.Nodes)
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "chip,destination,port,next,share") // out keeps the error for Flush
	for dst := range r.Network.Nodes {
		nodes := spread.NodesByDistance(sources[dst], dst, visited)
		slices.Sort(nodes)
		for _, node := range nodes {
			spread.Shares(node, dst, func(port int, share float64) {
				fmt.Fprintf(out, "%d,%d,%d,%d,%s\n", node, dst, port%spread.Degree, spread.To[port], strconv.FormatFloat(share, 'g', -1, 64))
			})
		}
	}
	return out.Flush()
}
