package result

import "testing"

func TestShortKey(t *testing.T) {
	for key, want := range map[string]string{
		"seed": "seed", "fabric.port_bandwidth": "port_bandwidth", "job.0.weight": "job 0 weight",
		"job.1.workload.pp": "job 1 pp", "job.mixtral.nct": "job mixtral nct",
	} {
		if got := ShortKey(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
