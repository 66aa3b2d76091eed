package links

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"sim/fabric/torus"
	"sim/scenarios/result"
)

// Cubes is what it takes to join the cubes of a torus.
type Cubes struct {
	connections []torus.Connection
	commands    *torus.Commands
	seconds     float64
}

// Join has the switches of a pod make the torus of the scenario, nil where it is not made of cubes.
func (l *Links) Join(t *torus.Torus) (*Cubes, error) {
	if torus.Cubic(t) != nil {
		return nil, nil
	}
	pod, err := torus.NewPod(torus.Cubes, l.SwitchTime)
	if err != nil {
		return nil, err
	}
	one, err := torus.New(torus.Side, torus.Side, torus.Side)
	if err != nil {
		return nil, err
	}
	for _, c := range l.BusyCubes {
		if _, _, err := pod.Connect("another", one, []int{c}); err != nil {
			return nil, err
		}
	}
	for _, s := range l.FailedOCS {
		of, err := torus.ParseSwitch(s)
		if err != nil {
			return nil, err
		}
		pod.BreakSwitch(of)
	}
	need := t.Nodes() / (torus.Side * torus.Side * torus.Side)
	cubes := l.Cubes
	if len(cubes) == 0 {
		free := pod.Free()
		if need > len(free) {
			return nil, fmt.Errorf("%s takes %d cubes, and %d of %d are free", t, need, len(free), torus.Cubes)
		}
		cubes = free[:need]
	}
	if l.Configured != "none" {
		before, err := torus.New(l.Dims...)
		if err != nil {
			return nil, err
		}
		if l.Configured != "" {
			if err := before.Twist(l.Configured); err != nil {
				return nil, err
			}
		}
		if _, _, err := pod.Connect("this", before, cubes); err != nil {
			return nil, err
		}
	}
	z := &Cubes{}
	if z.connections, err = torus.Adjacent(t, cubes); err != nil {
		return nil, err
	}
	commands, took, err := pod.Connect("this", t, cubes)
	if err != nil {
		return nil, err
	}
	z.commands, z.seconds = commands, took.Seconds()
	return z, nil
}

// Metrics tells what the switches do.
func (j *Cubes) Metrics(m map[string]float64) {
	m["optical_connections"], m["switch_commands"], m["switch_s"] = float64(len(j.connections)), float64(len(j.commands.Make)), j.seconds
}

// File lists the connections: which are made, undone, or there already.
func (j *Cubes) File() result.File {
	var b bytes.Buffer // which does not fail
	w := csv.NewWriter(&b)
	w.Write([]string{"switch", "out_cube", "in_cube", "command"})
	row := func(c torus.Connection, command string) {
		w.Write([]string{c.Switch.String(), strconv.Itoa(c.Out), strconv.Itoa(c.In), command})
	}
	for _, c := range j.commands.Undo {
		row(c, "undo")
	}
	made := map[torus.Connection]bool{}
	for _, c := range j.commands.Make {
		made[c] = true
	}
	for _, c := range j.connections {
		if made[c] {
			row(c, "make")
		} else {
			row(c, "keep")
		}
	}
	w.Flush()
	return result.File{Name: "crossconnects.csv", Data: b.Bytes()}
}
