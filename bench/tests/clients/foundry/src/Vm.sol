// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

// Vm has the cheat codes of forge that this project uses; forge-std has all.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
    function envAddress(string calldata name) external view returns (address);
    function envUint(string calldata name) external view returns (uint256);
    function rollFork(uint256 number) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
