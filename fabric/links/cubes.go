package links

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"

	"sim/fabric/torus"
)

// Cubes describes how optical switches join the cubes of a torus.
type Cubes struct {
	connections []torus.Connection // all connections of the torus
	commands    *torus.Commands    // changes from the previous connections
	seconds     float64            // time of the changes
}

// JoinCubes returns the connections that form the torus of the scenario from cubes of a pod, nil
// if the torus is not made of cubes. It returns an error if the pod has fewer free cubes than
// the torus takes.
func (l *Links) JoinCubes(t *torus.Torus) (*Cubes, error) {
	if torus.CheckCubic(t) != nil {
		return nil, nil
	}

	// Parse the switches that are down.
	var down []torus.Switch
	for _, name := range l.FailedOCS {
		s, err := torus.ParseSwitch(name)
		if err != nil {
			return nil, err
		}
		down = append(down, s)
	}

	// List the free cubes of the pod. By default the torus takes the first ones.
	need := t.Nodes() / (torus.Side * torus.Side * torus.Side)
	pod := cmp.Or(l.PodCubes, max(torus.Cubes, need))
	busy := map[int]bool{}
	for _, c := range l.BusyCubes {
		busy[c] = true
	}
	var free []int
	for c := range pod {
		if !busy[c] {
			free = append(free, c)
		}
	}

	cubes := l.Cubes
	if len(cubes) == 0 {
		if need > len(free) {
			return nil, fmt.Errorf("%s takes %d cubes of %dx%dx%d, and %d of the pod's %d are free",
				t, need, torus.Side, torus.Side, torus.Side, len(free), pod)
		}
		cubes = free[:need]
	}

	for _, c := range cubes {
		if busy[c] {
			return nil, fmt.Errorf("%w: cube %d belongs to another job; free are %v",
				torus.ErrPorts, c, free)
		}
	}

	// The torus that the cubes formed before has the same sizes, and l.Configured is its twist.
	// "" stands for no twist, and "none" for cubes that were not connected.
	var before *torus.Torus
	if l.Configured != "none" {
		var err error
		if before, err = torus.New(l.Dims...); err != nil {
			return nil, err
		}
		if l.Configured != "" {
			if err := before.Twist(l.Configured); err != nil {
				return nil, err
			}
		}
	}

	// Compute the connections of the torus, and the commands that make them.
	z := &Cubes{}
	var err error
	if z.connections, err = torus.CubeConnections(t, cubes); err != nil {
		return nil, err
	}
	if z.commands, err = torus.Reconnect(before, t, cubes, pod, down); err != nil {
		return nil, err
	}
	if len(z.commands.Make) > 0 {
		z.seconds = l.SwitchTime.Seconds()
	}
	return z, nil
}

// Metrics adds the metrics of the optical switches to m.
func (j *Cubes) Metrics(m map[string]float64) {
	m["optical_connections"], m["switch_commands"], m["switch_s"] = float64(len(j.connections)), float64(len(j.commands.Make)), j.seconds
}

// CSV returns a table of the connections. Each is marked as made, undone or kept.
func (j *Cubes) CSV() []byte {
	var b bytes.Buffer // writes to it cannot fail
	w := csv.NewWriter(&b)
	w.Write([]string{"switch", "out_cube", "in_cube", "command"})
	row := func(c torus.Connection, command string) {
		w.Write([]string{c.Switch.String(), strconv.Itoa(c.Out), strconv.Itoa(c.In), command})
	}

	for _, c := range j.commands.Undo {
		row(c, "undo")
	}

	isNew := map[torus.Connection]bool{}
	for _, c := range j.commands.Make {
		isNew[c] = true
	}

	for _, c := range j.connections {
		if isNew[c] {
			row(c, "make")
		} else {
			row(c, "keep")
		}
	}
	w.Flush()
	return b.Bytes()
}
