package graph

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"testing"
)

// TestDamagedLists: what reading a list of links comes to when it is cut off anywhere, or when any of its bytes is
// another, is as stored: names and links, or the lines of all errors.
func TestDamagedLists(t *testing.T) {
	place := regexp.MustCompile(`log:\d+`)
	digest := fnv.New64a()
	for _, text := range []string{"From, to, rate\n# links\n\na b\n b a 100Gbps # fast\nb,c,,500ns\nc a 8Mbps 1us\n", "0 1\n1 2 5Gbps\n2 0 1Gbps 3ns\n"} {
		for _, o := range []Options{usual, {Undirected: true}} {
			read := func(text string) {
				g, err := Read(strings.NewReader(text), "log", o)
				if err != nil {
					fmt.Fprintln(digest, "error", place.FindAllString(err.Error(), -1))
					return
				}
				fmt.Fprintln(digest, g.Names, g.Nodes, g.Links)
			}
			read(text)
			for i := range text {
				read(text[:i])
				for _, other := range []byte{'1', ',', '\n', '-', text[i] ^ 0x01} {
					read(text[:i] + string(rune(other)) + text[i+1:])
				}
			}
		}
	}
	if got, want := digest.Sum64(), uint64(0x4532ab07c26814e5); got != want {
		t.Errorf("lists: digest %#x, want %#x", got, want)
	}
}

// TestDiagnosticsAreFew: of a list with as many faults as are told all are told, and of more no more are.
func TestDiagnosticsAreFew(t *testing.T) {
	for _, faults := range []int{1, maxDiagnostics, maxDiagnostics + 1, 3 * maxDiagnostics} {
		_, err := Read(strings.NewReader(strings.Repeat("a a\n", faults)), "log", usual)
		if err == nil {
			t.Fatal("a list of faults is read")
		}
		if got, want := strings.Count(err.Error(), "log:"), min(faults, maxDiagnostics); got != want {
			t.Errorf("%d faults are told of %d, want %d", got, faults, want)
		}
	}
}
