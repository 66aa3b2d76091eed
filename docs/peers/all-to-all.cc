// All-to-all on a torus in ns-3: ten UDP packets of 512 bytes of each ordered pair of nodes, one every 512 * 8 / 448 kb/s,
// over point-to-point links of 1 Mb/s without latency or bound on their queues, by dimension-order routes whose ties go up
// from even coordinates. BenchmarkAllToAll/scheduled of sim's engine/packet is the same work.
//
//   g++ -O2 -std=c++17 all-to-all.cc -o all-to-all -lns3-{core,network,internet,point-to-point} && ./all-to-all 8 8 8
#include <iostream>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

static int dims[3], nodes;
static uint64_t hops, delivered;

static void At(int id, int at[3]) {
  for (int d = 0; d < 3; d++) at[d] = id % dims[d], id /= dims[d];
}

// Torus routes to 10.x.y.z, where 256 x + y is 1 + the node's number and z is 1, over interfaces 1 + 2 dim + (1 if down).
class Torus : public Ipv4RoutingProtocol {
 public:
  Ptr<Ipv4> ip;
  int self;
  static int Number(Ipv4Address a) { return int(a.Get() >> 8 & 0xffff) - 1; }
  int Port(Ipv4Address to) const {
    int a[3], b[3];
    At(self, a), At(Number(to), b);
    for (int d = 0; d < 3; d++) {
      int k = dims[d], up = (b[d] - a[d] + k) % k;
      if (up) return 1 + 2 * d + !(2 * up < k || (2 * up == k && a[d] % 2 == 0));
    }
    return 0;
  }
  Ptr<Ipv4Route> Make(Ipv4Address to) const {
    auto r = Create<Ipv4Route>();
    r->SetDestination(to), r->SetSource(ip->GetAddress(1, 0).GetLocal()), r->SetGateway(to);
    r->SetOutputDevice(ip->GetNetDevice(Port(to)));
    return r;
  }
  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& h, Ptr<NetDevice>, Socket::SocketErrno& e) override {
    e = Socket::ERROR_NOTERROR, hops++;
    return Make(h.GetDestination());
  }
  bool RouteInput(Ptr<const Packet> p, const Ipv4Header& h, Ptr<const NetDevice> in, UnicastForwardCallback forward,
                  MulticastForwardCallback, LocalDeliverCallback deliver, ErrorCallback) override {
    if (Number(h.GetDestination()) == self)
      deliver(p, h, ip->GetInterfaceForDevice(in));
    else
      hops++, forward(Make(h.GetDestination()), p, h);
    return true;
  }
  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> i) override { ip = i; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}
};

static void Read(Ptr<Socket> s) {
  while (s->Recv()) delivered++;
}

static Ipv4Address NodeAddress(int id) { return Ipv4Address(10u << 24 | uint32_t(id + 1) << 8 | 1); }

static void Send(Ptr<Socket> s, int to) { s->SendTo(Create<Packet>(512), 0, InetSocketAddress(NodeAddress(to), 9)); }

int main(int, char** v) {
  for (int d = 0; d < 3; d++) dims[d] = atoi(v[d + 1]);
  nodes = dims[0] * dims[1] * dims[2];
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1000000000p"));
  NodeContainer all;
  all.Create(nodes);
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(all);
  PointToPointHelper links;
  links.SetDeviceAttribute("DataRate", StringValue("1Mbps"));
  links.SetDeviceAttribute("Mtu", UintegerValue(1500));
  std::vector<std::array<Ptr<NetDevice>, 6>> ports(nodes);
  for (int id = 0, step = 1; id < nodes; id++) {
    int at[3];
    At(id, at);
    step = 1;
    for (int d = 0; d < 3; step *= dims[d++]) {
      int next = id + (at[d] + 1 == dims[d] ? 1 - dims[d] : 1) * step;
      auto pair = links.Install(all.Get(id), all.Get(next));
      ports[id][2 * d] = pair.Get(0), ports[next][2 * d + 1] = pair.Get(1);
    }
  }
  std::vector<Ptr<Socket>> sockets(nodes);
  for (int id = 0; id < nodes; id++) {
    auto ip = all.Get(id)->GetObject<Ipv4>();
    for (auto& device : ports[id]) {
      auto i = ip->AddInterface(device);
      ip->AddAddress(i, Ipv4InterfaceAddress(NodeAddress(id), Ipv4Mask("255.0.0.0")));
      ip->SetUp(i);
    }
    auto routes = CreateObject<Torus>();
    routes->self = id;
    ip->SetRoutingProtocol(routes);
    sockets[id] = Socket::CreateSocket(all.Get(id), UdpSocketFactory::GetTypeId());
    sockets[id]->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    sockets[id]->SetRecvCallback(MakeCallback(&Read));
  }
  Time every = Seconds(512 * 8 / 448e3);
  for (int k = 1; k <= 10; k++)
    for (int id = 0; id < nodes; id++)
      for (int to = 0; to < nodes; to++)
        if (to != id) Simulator::ScheduleWithContext(id, k * every, &Send, sockets[id], to);
  Simulator::Run();
  std::cout << delivered << " packets, " << hops << " hops, " << Simulator::Now().GetSeconds() << " s\n";
}
