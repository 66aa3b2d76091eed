package graph

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/units"
)

var usual = Options{Link: engine.Link{Rate: 1e9, Latency: 5, Buffer: 7, Channels: 2}}

// TestRead: a list with named nodes, defaults, comments, spaces and commas.
func TestRead(t *testing.T) {
	g, err := Read(strings.NewReader("From, to, rate\n# links\n\na b\n b a 100Gbps # fast\nb,c,,500ns\nc a 8Mbps 1us\n"), "ring.txt", usual)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Link{
		{From: 0, To: 1, Rate: 1e9, Latency: 5, Buffer: 7, Channels: 2}, {From: 1, To: 0, Rate: 100e9, Latency: 5, Buffer: 7, Channels: 2},
		{From: 1, To: 2, Rate: 1e9, Latency: 500 * engine.Nanosecond, Buffer: 7, Channels: 2}, {From: 2, To: 0, Rate: 8e6, Latency: engine.Microsecond, Buffer: 7, Channels: 2},
	}
	if g.Nodes != 3 || fmt.Sprint(g.Links) != fmt.Sprint(want) || fmt.Sprint(g.Names) != "[a b c]" {
		t.Errorf("%d nodes %v, links %v", g.Nodes, g.Names, g.Links)
	}
	if name := g.ResourceName(2); name != "link 2 from b to c" {
		t.Error(name)
	}
	if g, err = Read(strings.NewReader("0 1\n1 01\n"), "named.txt", usual); err != nil || fmt.Sprint(g.Names) != "[0 1 01]" {
		t.Errorf("names %v, %v", g, err)
	}
	g, err = Read(strings.NewReader("2 0\n0 1\n"), "path.txt", Options{Link: usual.Link, Undirected: true})
	if err != nil {
		t.Fatal(err)
	}
	if ends := fmt.Sprint(g.Links[0].From, g.Links[0].To, g.Links[1].From, g.Links[1].To, g.Links[3].From); ends != "2 0 0 2 1" || len(g.Links) != 4 || g.Names[2] != "2" {
		t.Errorf("%v of %v", ends, g.Links)
	}
}

// TestRoundTrip: a written list is read back, with numbers or names, directed or undirected.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 9).Draw(t, "nodes")
		prefix := rapid.SampledFrom([]string{"", "n"}).Draw(t, "prefix")
		sep := rapid.SampledFrom([]string{" ", ",", "\t", " , "}).Draw(t, "separator")
		o := Options{Undirected: rapid.Bool().Draw(t, "undirected")}
		var text strings.Builder
		var want []engine.Link
		add := func(a, b int) {
			l := engine.Link{From: int32(a), To: int32(b), Rate: float64(rapid.IntRange(1, 9).Draw(t, "Gbps")) * 1e9, Latency: engine.Time(rapid.IntRange(0, 9).Draw(t, "ns")) * engine.Nanosecond}
			fmt.Fprint(&text, prefix, a, sep, prefix, b, sep, units.Rate(l.Rate), sep, units.FormatTime(l.Latency), "\n")
			if want = append(want, l); o.Undirected {
				l.From, l.To = l.To, l.From
				want = append(want, l)
			}
		}
		for a := range nodes - 1 { // every node once, in order, so that names have their numbers
			add(a, a+1)
		}
		for range rapid.IntRange(0, 9).Draw(t, "more") {
			if a, b := rapid.IntRange(0, nodes-1).Draw(t, "a"), rapid.IntRange(0, nodes-1).Draw(t, "b"); a != b {
				add(a, b)
			}
		}
		g, err := Read(strings.NewReader(text.String()), "list", o)
		if err != nil {
			t.Fatal(err)
		}
		if int(g.Nodes) != nodes || fmt.Sprint(g.Links) != fmt.Sprint(want) || g.Names[1] != prefix+"1" {
			t.Fatalf("%q: %d nodes %v, links %v; want %v", text.String(), g.Nodes, g.Names, g.Links, want)
		}
	})
}

// TestReadReportsErrors: each error has its line and states the accepted values. All errors of a
// file are reported together.
func TestReadReportsErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
		none       bool // no default rate
	}{
		{",1\n", "net:1: 2 words", false},
		{"0 1\n0\n", "net:2: 1 words; want from, to", false},
		{"0 1 1Gbps 2ns 3\n", "net:1: 5 words", false},
		{"0,,1Gbps\n", "net:1: 3 words", false},
		{"0 1\n1 0 fast\n", "net:2: the third word is no rate", false},
		{"0 1 1Gbps -4ns\n", "net:1: the fourth word is no", false},
		{"0 1 0Gbps\n", "net:1: the link has a rate of 0 b/s; want one above 0", false},
		{"0 1\n", "net:1: the link has a rate of 0 b/s", true},
		{"a b\nb b\n", "net:2: a link from a node to itself", false},
		{"0 1\n1 3\n", "3 nodes, one of them number 3; want them numbered from 0 without gaps", false},
		{"0 1\nfrom to\n", "", false}, // a header in the second line is a pair of names
		{"# nothing\n", "net has no links", false},
		{"from to\n", "net has no links", false},
	} {
		o := usual
		if c.none {
			o = Options{}
		}
		_, err := Read(strings.NewReader(c.text), "net", o)
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		if err == nil || !errors.Is(err, ErrList) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader("0 1\n"), "net", Options{Link: engine.Link{Rate: 1, Latency: -1}}); err == nil || !strings.Contains(err.Error(), "a latency of -1e-12s; want at least 0") {
		t.Error(err)
	}
	_, err := Read(strings.NewReader("0\n0 0\n0 1 x\n"), "net", usual)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three faults are told as %v", err)
	}
	_, err = Read(strings.NewReader(strings.Repeat("x", 1<<17)), "net", usual)
	if err == nil || !strings.Contains(err.Error(), "net:1: a line of more than 65536 bytes") {
		t.Errorf("a long line: %v", err)
	}
}

// TestReadBroken: an error of the reader is returned with its line. Groups have names that
// differ from links.
func TestReadBroken(t *testing.T) {
	broken := errors.New("broken")
	_, err := Read(io.MultiReader(strings.NewReader("0 1\n1 0\n"), iotest.ErrReader(broken)), "net", usual)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "net:3") {
		t.Error(err)
	}
	g, err := Read(strings.NewReader("0 1\n1 0\n"), "net", usual)
	if err != nil {
		t.Fatal(err)
	}
	g.Groups = make([]engine.Group, 2)
	if name := g.ResourceName(3); name != "group 1" {
		t.Error(name)
	}
}
