package scenarios

import (
	"fmt"
	"os"
	"testing"
)

func TestZ2(t *testing.T) {
	d, _ := os.ReadFile("testdata/faults/many.toml")
	_, err := Parse("many.toml", d, []string{"workload.tp=x", "foo.bar=1", "zzz", "workload.model.x=2", "replica.7.compute_scale=-1"})
	fmt.Println(err)
	for _, set := range [][]string{{"workload.pp=12"}, {"workload.pp=64"}, {"fabric.ports_per_pod=2"}, {"workload.ep=3"}, {"workload.tp=3"}, {"workload.gpus=250"}, {"fabric.gpus_per_pod_per_replica=12"}, {"fabric.gpus_per_pod_per_replica=24"}, {"workload.gpus=128", "fabric.gpus_per_pod_per_replica=128"}, {"fabric.port_bandwidth=800Gbps"}, {"fabric.port_bandwidth=0bps"}, {"workload.schedule=interleaved-1f1b"}, {"workload.schedule=interleaved-1f1b", "workload.virtual_stages=4"}, {"workload.schedule=interleaved-1f1b", "workload.virtual_stages=2", "workload.microbatches=100"}, {`policy.allocators=["fixed"]`}, {`policy.allocators=["fixed"]`, "policy.fixed.circuits=[[0,1],[1,0]]"}, {`policy.allocators=fixed`}, {"replica.5.ports_per_pod=3"}, {"replica.1.ports_per_pod=2", "replica.0.pod_map=[0,1,2,2]"}, {"workload.replicas=single", "replica.1.compute_scale=2"}, {"workload.microbatches=1000000", "workload.replicas=all", "workload.flows=per-gpu"}, {"workload.sequence=1000000000"}, {"policy.delta-fast.population=4"}, {"policy.allocators=[\"delta-joint\",\"delta-joint\"]", "policy.delta-fast.population=4"}, {"workload=3"}, {"policy=[]", "replica=4"}, {"fabric.kind=torus"}, {"workload.kind=trainin", "workload.ep=0"}, {"workload.model=gpt-7b"}, {"workload.sequence=\n3\nx=4"}, {"workload.sequence=99999999999999999999"}, {"a.b.c.d.e.f=1"}, {"=3"}, {"replica.x.y=1"}, {"replica=[1]"}, {"name="}, {"policy.port_tolerance=inf"}} {
		_, err := Load("deepseek671b", set)
		fmt.Println(set, "\n  ", err)
	}
	for _, p := range []string{".", "nope.toml", "deepseek671", "/etc/shadowx", "x/deepseek671b.toml", "/dev/null"} {
		_, err := Load(p, nil)
		fmt.Println(err)
	}
	for _, p := range []string{"a = ", "a=1\n\n[x\n", "a=1\na=2", "x=\"\xff\"", "[a]\nb=99999999999999999999"} {
		_, err := Parse("f.toml", []byte(p), nil)
		fmt.Println(err)
	}
}
