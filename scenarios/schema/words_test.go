package schema

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"port_bandwidth", "ports_per_pod", "kind", "tp", "pp", "seed"}
	for text, want := range map[string]string{
		"port_bandwith": "port_bandwidth", "prot_bandwidth": "port_bandwidth", "PORT_BANDWIDTH": "port_bandwidth",
		"ports_pod": "", "ports_per_pods": "ports_per_pod", "sede": "seed", "dp": "", "": "", "kidn": "kind", "bandwidth": "",
	} {
		if got := Nearest(text, known); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
