-- Wireshark dissector of Trimline's NDP header: UDP port 49199, 16 bytes (crates/packet/src/wire/header.rs).
--
--   tshark -X lua_script:tools/wireshark/ndp.lua -r trace.pcapng
--   wireshark -X lua_script:tools/wireshark/ndp.lua trace.pcapng
--
-- Its filters begin with ndp_trim: `ndp` itself is another protocol there.
--
-- A switch that trims leaves the UDP length of the whole packet behind. Wireshark's own UDP dissector calls such a
-- packet malformed; so trimmed and returned packets, which their DSCP names, are taken from it.

local PORT = 49199
local DSCP = { [10] = "trimmable", [50] = "trimmed", [52] = "trimmed at the last hop", [54] = "returned",
               [48] = "control", [0] = "droppable" }
local KINDS = { [0] = "DATA", [1] = "ACK", [2] = "NACK", [3] = "PULL", [4] = "RESET" }

local ndp = Proto("ndp_trim", "NDP: trimmed packets, receiver-driven")
local f = ndp.fields
f.version = ProtoField.uint8("ndp_trim.version", "Version", base.DEC, nil, 0xf0)
f.kind = ProtoField.uint8("ndp_trim.kind", "Type", base.DEC, KINDS, 0x0f)
f.flags = ProtoField.uint8("ndp_trim.flags", "Flags", base.HEX)
f.syn = ProtoField.bool("ndp_trim.flags.syn", "SYN: of the first window", 8, nil, 0x01)
f.last = ProtoField.bool("ndp_trim.flags.last", "LAST: nothing further to send now", 8, nil, 0x02)
f.opener = ProtoField.bool("ndp_trim.flags.from_opener", "FROM_OPENER", 8, nil, 0x04)
f.pull_flag = ProtoField.bool("ndp_trim.flags.pull", "PULL: a pull counter rides along", 8, nil, 0x08)
f.attempt = ProtoField.uint8("ndp_trim.attempt", "Attempt, modulo 4", base.DEC, nil, 0x30)
f.class = ProtoField.uint8("ndp_trim.class", "Priority class", base.DEC, nil, 0xc0)
f.check = ProtoField.uint16("ndp_trim.check", "Check", base.HEX)
f.connection = ProtoField.uint32("ndp_trim.connection", "Connection", base.DEC)
f.sequence = ProtoField.uint32("ndp_trim.sequence", "Packet number", base.DEC)
f.counter = ProtoField.uint32("ndp_trim.pull_counter", "Pull counter", base.DEC)
f.length = ProtoField.uint16("ndp_trim.payload_length", "Payload length, as sent", base.DEC)
f.service_port = ProtoField.uint16("ndp_trim.service_port", "Service port", base.DEC)
f.service = ProtoField.string("ndp_trim.service", "Treated as")
f.trimmed = ProtoField.bool("ndp_trim.trimmed", "Trimmed: the payload is gone")
f.returned = ProtoField.bool("ndp_trim.returned", "Returned to its sender")

local e_trimmed = ProtoExpert.new("ndp_trim.expert.trimmed", "A switch cut the payload", expert.group.SEQUENCE,
                                  expert.severity.NOTE)
local e_returned = ProtoExpert.new("ndp_trim.expert.returned", "A full header queue returned the header to its sender",
                                   expert.group.SEQUENCE, expert.severity.WARN)
local e_again = ProtoExpert.new("ndp_trim.expert.retransmission", "A retransmission", expert.group.SEQUENCE,
                                expert.severity.NOTE)
local e_version = ProtoExpert.new("ndp_trim.expert.version", "Unknown version", expert.group.PROTOCOL,
                                  expert.severity.ERROR)
ndp.experts = { e_trimmed, e_returned, e_again, e_version }

local dscp_v4 = Field.new("ip.dsfield.dscp")

local function service_of()
  local info = dscp_v4()
  return info and info.value or nil
end

-- The 16 bytes.
local function header(tvb, pinfo, tree, dscp)
  if tvb:len() < 16 then return 0 end
  local kind = tvb(0, 1):bitfield(4, 4)
  local item = tree:add(ndp, tvb(0, 16))
  item:add(f.version, tvb(0, 1))
  if tvb(0, 1):bitfield(0, 4) ~= 1 then item:add_proto_expert_info(e_version) end
  item:add(f.kind, tvb(0, 1))
  local flags = item:add(f.flags, tvb(1, 1))
  flags:add(f.syn, tvb(1, 1))
  flags:add(f.last, tvb(1, 1))
  flags:add(f.opener, tvb(1, 1))
  flags:add(f.pull_flag, tvb(1, 1))
  item:add(f.attempt, tvb(1, 1))
  item:add(f.class, tvb(1, 1))
  item:add(f.check, tvb(2, 2))
  item:add(f.connection, tvb(4, 4))
  local number, extra = tvb(8, 4):uint(), tvb(12, 4)
  local words = (KINDS[kind] or "type " .. kind) .. " " .. number
  if kind == 3 then
    item:add(f.counter, tvb(8, 4))
  else
    item:add(f.sequence, tvb(8, 4))
  end
  if kind == 0 then
    item:add(f.length, tvb(12, 2))
    item:add(f.service_port, tvb(14, 2))
    local attempt = tvb(1, 1):bitfield(2, 2)
    if attempt > 0 then
      words = words .. " again"
      item:add_proto_expert_info(e_again)
    end
  elseif (kind == 1 or kind == 2) and tvb(1, 1):bitfield(4, 1) == 1 then
    item:add(f.counter, extra)
    words = words .. ", pull " .. extra:uint()
  end
  if dscp then item:add(f.service, DSCP[dscp] or ("DSCP " .. dscp)):set_generated() end
  if dscp == 50 or dscp == 52 or dscp == 54 then
    item:add(f.trimmed, true):set_generated()
    words = words .. " [trimmed]"
    item:add_proto_expert_info(e_trimmed)
  end
  if dscp == 54 then
    item:add(f.returned, true):set_generated()
    words = words .. " [returned]"
    item:add_proto_expert_info(e_returned)
  end
  pinfo.cols.protocol = "NDP"
  pinfo.cols.info = words
  item:append_text(", " .. words)
  return 16
end

-- Complete packets: behind UDP.
function ndp.dissector(tvb, pinfo, tree)
  return header(tvb, pinfo, tree, service_of())
end
DissectorTable.get("udp.port"):add(PORT, ndp)

-- Packets that were cut: instead of UDP.
local by_protocol = DissectorTable.get("ip.proto")
local udp = by_protocol:get_dissector(17)
local cut = Proto("ndp_cut", "UDP header of a trimmed packet")
cut.fields.source = ProtoField.uint16("ndp_cut.srcport", "Source port", base.DEC)
cut.fields.destination = ProtoField.uint16("ndp_cut.dstport", "Destination port", base.DEC)
cut.fields.length = ProtoField.uint16("ndp_cut.length", "Length of the whole packet", base.DEC)

function cut.dissector(tvb, pinfo, tree)
  local dscp = service_of()
  local is_cut = dscp == 50 or dscp == 52 or dscp == 54
  if not is_cut or tvb:len() < 24
     or (tvb(0, 2):uint() ~= PORT and tvb(2, 2):uint() ~= PORT) then
    return udp:call(tvb, pinfo, tree)
  end
  local item = tree:add(cut, tvb(0, 8))
  item:add(cut.fields.source, tvb(0, 2))
  item:add(cut.fields.destination, tvb(2, 2))
  item:add(cut.fields.length, tvb(4, 2))
  return 8 + header(tvb(8):tvb(), pinfo, tree, dscp)
end
by_protocol:add(17, cut)
