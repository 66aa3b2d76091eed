// This file exports the paths of routers as forwarding tables and packet tags.

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

// Routes holds the paths of a policy's flows, for export.
type Routes struct {
	Policy  string
	Network *engine.Network
	Flows   []engine.Flow
	Paths   *engine.Paths
	// ComputePaths computes Paths if the simulation did not need all of them; nil if
	// Paths is set.
	ComputePaths func() (*engine.Paths, error)
}

// RouteFiles writes the CSV files of a router.
type RouteFiles struct {
	Tables func(io.Writer) error // forwarding tables of the chips
	Tags   func(io.Writer) error // tags of packets; nil if packets choose links at random
}

// Compile returns the forwarding tables of the chips and the tags of packets. If packets
// choose links at random, tables hold the probability of each link, and there are no
// tags. It fails if a path visits a node twice, because no table can describe such a
// path.
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

// writeSpread writes the links that packets choose from, with their probabilities.
func (r *Routes) writeSpread(w io.Writer) error {
	sources := make([][]int32, r.Network.Nodes) // indexed by destination
	for _, f := range r.Flows {
		sources[f.Dst] = append(sources[f.Dst], f.Src)
	}

	spread, visited := r.Paths.Spread, make([]bool, r.Network.Nodes)
	out := bufio.NewWriter(w) // keeps its first error until Flush
	fmt.Fprintln(out, "chip,destination,port,next,share")
	for dst := range r.Network.Nodes {
		nodes := spread.NodesByDistance(sources[dst], dst, visited)
		slices.Sort(nodes)
		for _, node := range nodes {
			spread.Shares(node, dst, func(port int, share float64) {
				probability := strconv.FormatFloat(share, 'g', -1, 64)
				fmt.Fprintf(out, "%d,%d,%d,%d,%s\n",
					node, dst, port%spread.Degree, spread.To[port], probability)
			})
		}
	}
	return out.Flush()
}
