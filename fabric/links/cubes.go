package links

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"

	"sim/fabric/torus"
)

// Cubes is what it takes to join the cubes of a torus.
type Cubes struct {
	connections []torus.Connection
	commands    *torus.Commands
	seconds     float64
}

// JoinCubes has the switches of a pod make the torus of the scenario, nil where it is not made of cubes. It fails if the pod
// has fewer free cubes than the torus takes.
func (l *Links) JoinCubes(t *torus.Torus) (*Cubes, error) {
	if torus.CheckCubic(t) != nil {
		return nil, nil
	}
	var down []torus.Switch
	for _, name := range l.FailedOCS {
		s, err := torus.ParseSwitch(name)
		if err != nil {
			return nil, err
		}
		down = append(down, s)
	}
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
			return nil, fmt.Errorf("%s takes %d cubes of %dx%dx%d, and %d of the pod's %d are free", t, need, torus.Side, torus.Side, torus.Side, len(free), pod)
		}
		cubes = free[:need]
	}
	for _, c := range cubes {
		if busy[c] {
			return nil, fmt.Errorf("%w: cube %d belongs to another job; free are %v", torus.ErrPorts, c, free)
		}
	}
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

// Metrics tells what the switches do.
func (j *Cubes) Metrics(m map[string]float64) {
	m["optical_connections"], m["switch_commands"], m["switch_s"] = float64(len(j.connections)), float64(len(j.commands.Make)), j.seconds
}

// CSV lists the connections: which are made, undone, or there already.
func (j *Cubes) CSV() []byte {
	var b bytes.Buffer // which does not fail
	w := csv.NewWriter(&b)
	w.Write([]string{"switch", "out_cube", "in_cube", "command"})
	row := func(c torus.Connection, command string) {
		w.Write([]string{c.Switch.String(), strconv.Itoa(c.Out), strconv.Itoa(c.In), command})
	}
	for _, c := range j.commands.Undo {
		row(c, "undo")
	}
	isMade := map[torus.Connection]bool{}
	for _, c := range j.commands.Make {
		isMade[c] = true
	}
	for _, c := range j.connections {
		if isMade[c] {
			row(c, "make")
		} else {
			row(c, "keep")
		}
	}
	w.Flush()
	return b.Bytes()
}
