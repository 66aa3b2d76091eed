package links

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"

	"sim/engine/units"
	"sim/fabric/torus"
)

// Cubes describes how optical switches join the cubes of a torus.
type Cubes struct {
	connections []torus.Connection // all connections of the torus
	commands    *torus.Commands    // changes from the previous connections
	seconds     float64            // time of the changes
}

// PresetRate returns the default rate of the links of a torus: the preset's, or else DefaultRate.
func (l *Links) PresetRate() units.Rate {
	p, _ := torus.FindPreset(l.Preset)
	return cmp.Or(p.LinkRate, DefaultRate)
}

// DefaultPodCubes returns the number of cubes of the pod: the preset's, or else 64 as in TPU v4.
// Without a preset, a larger torus has a larger pod.
func (l *Links) DefaultPodCubes(t *torus.Torus) int {
	if p, ok := torus.FindPreset(l.Preset); ok {
		return p.Cubes
	}
	return max(torus.TPUv4Pod().Cubes, t.Nodes()/t.Cube.Chips())
}

// JoinCubes returns the connections that form the torus of the scenario from cubes of a pod, nil
// if the torus is not made of cubes. It returns an error if the pod has fewer free cubes than
// the torus takes, or if the torus exceeds the largest slice of the preset.
func (l *Links) JoinCubes(t *torus.Torus) (*Cubes, error) {
	if torus.CheckCubic(t) != nil {
		return nil, nil
	}

	if p, ok := torus.FindPreset(l.Preset); ok && t.Nodes() > p.MaxSlice {
		return nil, fmt.Errorf("%s has %d chips, and the largest slice of %s has %d",
			t, t.Nodes(), p.Name, p.MaxSlice)
	}
	down, err := l.failedSwitches()
	if err != nil {
		return nil, err
	}

	// List the free cubes of the pod. By default the torus takes the first ones.
	need := t.Nodes() / t.Cube.Chips()
	pod := cmp.Or(l.PodCubes, l.DefaultPodCubes(t))
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
			return nil, fmt.Errorf("%s takes %d cubes of %s, and %d of the pod's %d are free",
				t, need, t.Cube, len(free), pod)
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
		if before, err = torus.New(l.Dims...); err != nil {
			return nil, err
		}
		before.Cube = t.Cube
		if l.Configured != "" {
			if err := before.Twist(l.Configured); err != nil {
				return nil, err
			}
		}
	}

	// Compute the connections of the torus, and the commands that make them.
	z := &Cubes{}
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
